// The cost of previews: one scaling per result, turns by workspace, megapixels a minute. A proxy in front of the store
// counts, holds and fails requests. Results are delivered by the gateway, which changes nothing for previews.
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { previewKey, resultKey } from '@matte/core/storage/object-key'
import { finishTask } from '@matte/core/task/run/finish-task'
import { defaultPlans as plans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import sharp from 'sharp'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { claim, smallImage, useApi } from '../api/given.ts'
import { exposedAt } from '../support/app/exposed.ts'
import { givenPerson, type Person } from '../support/app/people.ts'
import { givePassword, password } from '../support/app/sign-in/given-password.ts'
import { createTestBucket, type TestBucket } from '../support/store.ts'
import { until } from '../support/until.ts'

const variables: Record<string, string> = { RESULTS_DELIVERY: 'gateway' }
let store: Awaited<ReturnType<typeof startStoreProxy>>
let bucket: TestBucket
beforeAll(async () => {
  store = await startStoreProxy()
  bucket = await createTestBucket()
  Object.assign(variables, { S3_ENDPOINT: store.url, S3_BUCKET: bucket.name })
})
const world = useApi(variables)
afterEach(() => store.reset())
afterAll(async () => {
  bucket.close()
  await store.close()
})

type Seen = { readonly method: string; readonly key: string }
type Rule = (seen: Seen) => boolean

/** Signatures cover the Host, which it passes on. */
async function startStoreProxy() {
  const target = new URL(inject('storeEndpoint'))
  const seen: Seen[] = []
  const held: { readonly seen: Seen; readonly release: () => void }[] = []
  let isHeld: Rule = () => false
  let isFailed: Rule = () => false

  function pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method = 'GET', url: path = '/', headers } = incoming
    const asking = request({ host: target.hostname, port: target.port, method, path, headers, agent: false })
    asking.on('error', () => outgoing.destroy())
    outgoing.on('close', () => asking.destroy())
    asking.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    incoming.pipe(asking)
  }

  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url = '/' } = incoming
    const asked = { method, key: decodeURIComponent(url.split('?')[0] ?? '').replace(/^\/[^/]+\//, '') }
    seen.push(asked)
    if (isFailed(asked)) return void outgoing.writeHead(500).end()
    if (isHeld(asked)) held.push({ seen: asked, release: () => pass(incoming, outgoing) })
    else pass(incoming, outgoing)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const release = (): void => {
    isHeld = () => false
    for (const each of held.splice(0)) each.release()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: (rule: Rule) => {
      isHeld = rule
    },
    fail: (rule: Rule) => {
      isFailed = rule
    },
    heldKeys: () => held.map((each) => each.seen.key),
    release,
    count: (method: string, key: string) => seen.filter((each) => each.method === method && each.key === key).length,
    reset: () => {
      isFailed = () => false
      release()
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

type Result = { readonly id: string; readonly key: string; readonly preview: string }

/** 49 megapixels by default, which compress to little. */
async function givenResult({ client, workspaceId }: Workspace, side = 7_000): Promise<Result> {
  const { id } = await client.createTask({ imageUrl: await client.upload(await smallImage()) })
  const claimed = await claim(world.db, id)
  const key = resultKey(claimed, 'png')
  const create = { width: side, height: side, channels: 3 as const, background: '#4080c0' }
  const file = await sharp({ create, limitInputPixels: false }).png({ compressionLevel: 1 }).toBuffer()
  await bucket.put(key, file, { contentType: 'image/png' })
  const size = { width: side, height: side, resultSizeBytes: file.length }
  await finishTask(world.db, claimed, {
    status: 'succeeded',
    resultKey: key,
    resultFormat: 'png',
    foreground: null,
    ...size,
  })
  expect(workspaceId).toBe(claimed.workspaceId)
  return { id, key, preview: previewKey({ id, createdAt: claimed.createdAt, resultKey: key }) }
}

type Workspace = Awaited<ReturnType<typeof givenWorkspace>>

async function givenWorkspace() {
  const { client, workspaceId } = await world.caller({ plan: 'pro' })
  const person = await givenPerson(world.db, world.api, { member: { workspaceId, role: 'member' } })
  return { client, workspaceId, person }
}

const ask = ({ accessToken }: Person, { id }: Result, signal?: AbortSignal): Promise<Response> =>
  fetch(`${world.api.url}/api/v1/app/tasks/images/${id}/preview`, {
    headers: { authorization: `Bearer ${accessToken}` },
    ...(signal && { signal }),
  })

/** Requests of the API that wait for the store. */
const waiting = (): Promise<number> => exposedAt(world.api.healthUrl, 'matte_http_requests_waiting', { for: 'store' })

describe('a preview', () => {
  it('is made once, and then read from the store', async () => {
    const workspace = await givenWorkspace()
    const result = await givenResult(workspace, 20)
    const [first, second] = [await ask(workspace.person, result), await ask(workspace.person, result)]
    expect([first.status, second.status]).toEqual([200, 200])
    expect(Buffer.from(await second.arrayBuffer())).toEqual(Buffer.from(await first.arrayBuffer()))
    expect([store.count('GET', result.key), store.count('PUT', result.preview)]).toEqual([1, 1])
  })

  it('is made once for requests at the same time, also if the first of their clients leaves', async () => {
    const workspace = await givenWorkspace()
    const result = await givenResult(workspace, 20)
    store.hold(({ key }) => key === result.key)
    const leaving = new AbortController()
    const first = ask(workspace.person, result, leaving.signal).catch(() => 'left')
    await until('the result is read', () => store.heldKeys().length === 1)
    const second = ask(workspace.person, result)
    await until('both wait', async () => (await waiting()) === 2)
    leaving.abort()
    expect(await first).toBe('left')
    await until('one waits', async () => (await waiting()) === 1)
    store.release()
    expect((await second).status).toBe(200)
    expect(store.count('GET', result.key)).toBe(1)
  })

  it('is not made for a client that has left', async () => {
    const workspace = await givenWorkspace()
    const results = [await givenResult(workspace, 20), await givenResult(workspace, 20)] as const
    store.hold(({ key }) => key === results[0].key)
    const first = ask(workspace.person, results[0])
    await until('the result is read', () => store.heldKeys().length === 1)
    const leaving = new AbortController()
    const second = ask(workspace.person, results[1], leaving.signal).catch(() => 'left')
    await until('both wait', async () => (await waiting()) === 2)
    leaving.abort()
    expect(await second).toBe('left')
    await until('one waits', async () => (await waiting()) === 1)
    store.release()
    expect((await first).status).toBe(200)
    const third = await givenResult(workspace, 20)
    expect((await ask(workspace.person, third)).status).toBe(200) // after the turn of the second
    expect(store.count('GET', results[1].key)).toBe(0)
  })

  it('waits for no preview of another workspace that asks for 49 megapixels in a loop', async () => {
    const [loop, other] = [await givenWorkspace(), await givenWorkspace()]
    const large = [await givenResult(loop), await givenResult(loop), await givenResult(loop)]
    const small = [await givenResult(other, 20), await givenResult(other, 20), await givenResult(other, 20)]
    const keys = large.map(({ key }) => key)
    store.hold(({ key }) => keys.includes(key))
    const ended: string[] = []
    const asked = large.map((result) => ask(loop.person, result).then(({ status }) => ended.push(`loop ${status}`)))
    await until('all of the loop wait', async () => (await waiting()) === 3 && store.heldKeys().length > 0)
    for (const result of small) ended.push(`other ${(await ask(other.person, result)).status}`)
    expect(store.heldKeys()).toHaveLength(1)
    store.release()
    await Promise.all(asked)
    expect(ended).toEqual([...Array(3).fill('other 200'), ...Array(3).fill('loop 200')])
  })

  it('counts the megapixels of a result once, and is answered without them when stored', async () => {
    const workspace = await givenWorkspace()
    const { workspaceId, person } = workspace
    const [small, next, large] = [
      await givenResult(workspace, 1_000),
      await givenResult(workspace, 20),
      await givenResult(workspace),
    ] as const
    expect((await ask(person, small)).status).toBe(200)
    // One megapixel is used; ten are left of this minute and the next.
    const subject = `workspace:${workspaceId}:previews`
    const { numAffectedRows } = await sql`
      update rate_window set used = used + 1989, minute = minute + 1 where subject = ${subject}`.execute(world.db)
    expect(numAffectedRows).toBe(1n)
    expect((await ask(person, next)).status).toBe(200)
    const refused = await ask(person, large)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1)
    const { error } = (await refused.json()) as { error: object }
    expect(error).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'previews', perMinute: 2_000 } })
    expect(store.count('GET', large.key)).toBe(0)
    expect((await ask(person, small)).status).toBe(200)
  })

  it('is answered if it cannot be stored, and made again', async () => {
    const workspace = await givenWorkspace()
    const result = await givenResult(workspace, 20)
    store.fail(({ method, key }) => method === 'PUT' && key === result.preview)
    for (const times of [1, 2]) {
      const answer = await ask(workspace.person, result)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/webp'])
      expect(store.count('GET', result.key)).toBe(times)
    }
  })

  it('is refused while the store fails', async () => {
    const workspace = await givenWorkspace()
    const result = await givenResult(workspace, 20)
    store.fail(({ method, key }) => method === 'GET' && key === result.preview)
    const answer = await ask(workspace.person, result)
    const { error } = (await answer.json()) as { error: object }
    expect([answer.status, error]).toMatchObject([503, { code: 'TASK_STORAGE_UNAVAILABLE' }])
    expect(store.count('GET', result.key)).toBe(0)
  })
})

describe('a stored preview is deleted with its result', () => {
  const sweepIn = (days: number) =>
    sweepRetention(
      { db: world.db, bucket, plans, auditRetentionDays: 365 },
      { now: new Date(Date.now() + days * 86_400_000) },
    )

  it('by retention', async () => {
    const workspace = await givenWorkspace()
    const result = await givenResult(workspace, 20)
    await ask(workspace.person, result)
    expect(await bucket.keys('results/')).toContain(result.preview)
    await sweepIn(31)
    await sweepIn(40)
    expect(await bucket.keys('results/')).toEqual([])
  })

  it('after the account of its workspace was erased', async () => {
    const { client, workspaceId } = await world.caller({ plan: 'pro' })
    const person = await givenPerson(world.db, world.api, { member: { workspaceId, role: 'owner' } })
    await sql`update workspace set personal_of = null where id = ${person.personalWorkspaceId}`.execute(world.db)
    await sql`update workspace set personal_of = ${person.userId} where id = ${workspaceId}`.execute(world.db)
    await givePassword(world.db, person)
    const result = await givenResult({ client, workspaceId, person }, 20)
    await ask(person, result)
    expect(await bucket.keys('results/')).toContain(result.preview)
    await person.client.call('DELETE', '/users/profile', { body: { password } })
    await sweepIn(1)
    await sweepIn(10)
    expect(await bucket.keys('results/')).toEqual([])
  })
})
