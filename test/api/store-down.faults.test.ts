import { createServer, type Server } from 'node:http'
import { insertGrant } from '@matte/core/upload/grant-queries'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { freePorts } from '../support/free-ports.ts'
import { until } from '../support/until.ts'
import { type Caller, givenCaller, smallImage } from './given.ts'
import { type Relay, relay } from './relay.ts'

const database = useDatabase()
const grant = { fileName: 'a.png', contentType: 'image/png' }
const unavailable = { status: 503, code: 'TASK_STORAGE_UNAVAILABLE' }
const noRoom = { status: 429, code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'capacity' } }
let api: TestApi
let port = 0

beforeAll(async () => {
  ;[port = 0] = await freePorts(1)
  api = await startApi({ DATABASE_URL: database.url, S3_ENDPOINT: `http://127.0.0.1:${port}` })
})
afterAll(() => api.stop())

const refusal = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: { code: string; headers: Headers }) => error,
  )

describe('while the object store is down', () => {
  it('creation returns TASK_STORAGE_UNAVAILABLE with Retry-After and takes nothing', async () => {
    const { client, workspaceId } = await givenCaller(database.db, api)
    const objectKey = 'private-uploads/2026/11/a.png'
    await insertGrant(database.db, { workspaceId, objectKey, contentType: 'image/png', expiresInSeconds: 900 })
    const error = await refusal(client.createTask({ imageUrl: objectKey }))
    expect(error).toMatchObject(unavailable)
    expect(Number(error?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect((await client.listTasks()).total).toBe(0)
  })

  it('presign returns TASK_STORAGE_UNAVAILABLE after two failed probes, and a grant again once the store is back', async () => {
    const { client } = await givenCaller(database.db, api)
    const error = await until('presign refuses', () => refusal(client.presign(grant)))
    expect(error).toMatchObject(unavailable)
    expect(error.headers.get('retry-after')).toBe('5')
    const store = await answering(port)
    try {
      const { method } = await until('presign grants again', () => client.presign(grant).catch(() => undefined))
      expect(method).toBe('PUT')
    } finally {
      store.close()
      store.closeAllConnections()
    }
  })
})

const answering = (at: number): Promise<Server> =>
  new Promise((resolve) => {
    const server = createServer((_incoming, outgoing) => outgoing.writeHead(200).end())
    server.listen(at, '127.0.0.1', () => resolve(server))
  })

describe('while the object store hangs', () => {
  const own = useDatabase()
  let between: Relay
  let slow: TestApi
  beforeAll(async () => {
    between = await relay(Number(new URL(inject('storeEndpoint')).port))
    const S3_ENDPOINT = `http://127.0.0.1:${between.port}`
    slow = await startApi({ DATABASE_URL: own.url, S3_ENDPOINT, REQUESTS_IN_WORK_MAX: '64' })
  })
  afterAll(async () => {
    await slow.stop()
    await between.close()
  })

  it('reads work as usual, also for callers who create, and creations fail at once after detection', async () => {
    const creators = await Promise.all(Array.from({ length: 5 }, () => givenCaller(own.db, slow, { plan: 'internal' })))
    const image = await smallImage()
    const objects = await Promise.all(creators.map(({ client }) => client.upload(image)))
    const pages = creators.slice(0, 2)
    const usual = await timeReads(pages)
    between.freeze()
    // Singles and batches, more than the capacity.
    const pending = creators.flatMap(({ client }, index) =>
      Array.from({ length: 20 }, (_, turn) =>
        timed(() =>
          turn % 2 === 0
            ? client.createTask({ imageUrl: objects[index] })
            : client.call('POST', '/batch-tasks', { body: { imageUrls: [objects[index]] } }),
        ),
      ),
    )
    await until('the room for them is full', async () => (await countAtStore(slow)) === 64)
    // The minimum is for machines with reads below a millisecond.
    expect(await timeReads(pages)).toBeLessThan(2 * usual + 10)
    const first = await Promise.all(pending)
    const waited = first.filter(({ error }) => error?.code === unavailable.code)
    expect(waited).toHaveLength(64)
    for (const { error } of first) if (error?.code !== unavailable.code) expect(error).toMatchObject(noRoom)
    const [creator] = creators
    if (creator === undefined) throw new Error('there is no creator')
    await until('the probe knows', () => refusal(creator.client.presign(grant)))
    const later = await Promise.all(
      Array.from({ length: 10 }, () => timed(() => creator.client.createTask({ imageUrl: objects[0] }))),
    )
    for (const { error } of later) expect(error).toMatchObject(unavailable)
    expect(middle(waited) / middle(later)).toBeGreaterThan(4)
  })
})

/** Requests in progress at the store, from the metrics of the process. */
async function countAtStore({ healthUrl }: TestApi): Promise<number> {
  const text = await (await fetch(`${healthUrl}/metrics`)).text()
  return Number(/^matte_http_requests_waiting.*for="store"\S* (\d+)/m.exec(text)?.[1])
}

type Timed = { readonly ms: number; readonly error: { readonly code: string } | undefined }

async function timed(ask: () => Promise<unknown>): Promise<Timed> {
  const begun = performance.now()
  const error = await refusal(ask())
  return { ms: performance.now() - begun, error }
}

const middle = (times: readonly Timed[]): number =>
  times.map(({ ms }) => ms).toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0

/** Median of a hundred sequential reads, all of which must succeed. */
async function timeReads(readers: readonly Caller[]): Promise<number> {
  const times: Timed[] = []
  for (let turn = 0; turn < 50; turn++) {
    for (const { client } of readers) times.push(await timed(() => client.listTasks()))
  }
  expect(times.filter(({ error }) => error !== undefined)).toEqual([])
  return middle(times)
}
