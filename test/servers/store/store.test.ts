// A store that throttles, that loses a node in the middle of a transfer, and that is a region away.
import { randomUUID } from 'node:crypto'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { smallImage } from '../../api/given.ts'
import type { ApiError, Task } from '../../support/client.ts'
import { put } from '../../support/client.ts'
import { readHistory } from '../../support/factories.ts'
import { type Fake, startFake } from '../../support/fake-triton.ts'
import { findBrokenRules } from '../../support/invariants.ts'
import { lemur } from '../../support/photos.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { type Stack, useStack } from '../../support/stack.ts'
import { sharedStore } from '../../support/store.ts'
import { attemptsOf, download, eventsOf, submit, untilStatus } from '../../support/tasks.ts'
import { until } from '../../support/until.ts'
import { type FarAway, type StoreProxy, slowDown, startFarAway, startStoreProxy, tooMany } from './store-proxy.ts'

const modelAt = ({ address }: Fake): string =>
  JSON.stringify([{ name: 'service-v2', tritonModel: 'u2netp', addresses: [address], default: true }])

/** Each task succeeded at its first attempt, sent one webhook, and left one result. */
async function expectOneEach({ db, bucket, client }: Stack, receiver: Receiver, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    expect(await readHistory(db, id)).toEqual(['queued', 'processing', 'succeeded'])
    expect(await attemptsOf(db, id)).toBe(1)
    await until('the webhook arrives', () => eventsOf(receiver, id).length > 0)
    expect(eventsOf(receiver, id)).toEqual(['task.succeeded'])
    const { resultUrl } = await client.getTask(id)
    expect((await download(resultUrl)).length).toBeGreaterThan(0)
    expect((await bucket.keys('results/')).filter((key) => key.includes(`/${id}/`))).toHaveLength(1)
  }
  expect(await findBrokenRules(db)).toEqual({})
}

describe('a store that', () => {
  const stack = useStack({ processes: [] })
  let proxy: StoreProxy
  let triton: Fake
  let receiver: Receiver

  beforeAll(async () => {
    ;[proxy, triton, receiver] = await Promise.all([
      startStoreProxy(sharedStore().endpoint),
      startFake(),
      startReceiver(),
    ])
    await stack.start('api', { S3_ENDPOINT: proxy.url })
    await stack.start('worker', { S3_ENDPOINT: proxy.url, MODELS_STATIC: modelAt(triton) })
    await stack.start('dispatcher')
  })
  afterAll(async () => {
    proxy?.refuse(() => undefined)
    await Promise.all([proxy?.close(), triton?.kill(), receiver?.close()])
  })

  const refusedWith = (act: Promise<unknown>): Promise<ApiError> =>
    act.then(
      () => Promise.reject(new Error('was accepted')),
      (error: ApiError) => error,
    )

  it.each([slowDown, tooMany])(
    'answers every read with $status: creations get 503, waiting tasks lose no attempt',
    async (refusal) => {
      const { client, db } = stack
      await writeSetting(db, 'dispatchPaused', true)
      const tasks = await Promise.all(Array.from({ length: 3 }, () => submit(client, { callbackUrl: receiver.url })))
      const imageUrl = await client.upload(lemur())
      const before = proxy.requests.length
      proxy.refuse(({ method }) => (method === 'GET' ? refusal : undefined))
      const error = await refusedWith(client.createTask({ imageUrl }))
      expect(error).toMatchObject({ status: 503, code: 'TASK_STORAGE_UNAVAILABLE' })
      expect(Number(error.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      await writeSetting(db, 'dispatchPaused', false)
      // Each of five attempts would ask twice.
      await until('each task was refused more often than it has attempts', () => {
        const refused = proxy.requests.slice(before).filter(({ outcome }) => outcome === 'refused')
        return refused.length > (tasks.length + 1) * 2 * 6
      })
      proxy.refuse(() => undefined)
      for (const { id } of tasks) await untilStatus(client, id, 'succeeded')
      await expectOneEach(
        stack,
        receiver,
        tasks.map(({ id }) => id),
      )
    },
  )

  it('answers every write of a result with 503: no task loses an attempt', async () => {
    const { client } = stack
    const before = proxy.requests.length
    proxy.refuse(({ method, key }) => (method === 'PUT' && key.startsWith('results/') ? slowDown : undefined))
    const task = await submit(client, { callbackUrl: receiver.url })
    await until('the result was refused more often than the task has attempts', () => {
      const refused = proxy.requests.slice(before).filter(({ outcome }) => outcome === 'refused')
      return refused.length > 2 * 6
    })
    proxy.refuse(() => undefined)
    await untilStatus(client, task.id, 'succeeded')
    await expectOneEach(stack, receiver, [task.id])
  })

  it('throttles a third of all requests: callers see only documented answers, and every task succeeds once', async () => {
    const { client } = stack
    let asked = 0
    proxy.refuse(() => (asked++ % 3 === 0 ? slowDown : undefined))
    const others = new Set<string>()
    const create = async (): Promise<Task> => {
      const key = randomUUID()
      return until('the creation is accepted', async () => {
        try {
          const imageUrl = await client.upload(lemur()).catch(() => undefined)
          if (imageUrl === undefined) return undefined
          const options = { body: { imageUrl, callbackUrl: receiver.url }, headers: { 'idempotency-key': key } }
          return (await client.call<Task>('POST', '/tasks', options)).data
        } catch (error) {
          others.add(`${(error as ApiError).status} ${(error as ApiError).code}`)
          return undefined
        }
      })
    }
    const tasks = await Promise.all(Array.from({ length: 12 }, create))
    for (const { id } of tasks) await untilStatus(client, id, 'succeeded')
    proxy.refuse(() => undefined)
    for (const other of others) expect(['503 TASK_STORAGE_UNAVAILABLE', '409 CONFLICT']).toContain(other)
    await expectOneEach(
      stack,
      receiver,
      tasks.map(({ id }) => id),
    )
  })

  it('loses a node in the middle of reads and writes: each is repeated on another', async () => {
    const { client } = stack
    const lost = new Set<string>()
    proxy.cut(({ method, key }) => {
      const transfer = `${method} ${key}`
      const isFirst = !lost.has(transfer) && (method === 'GET' || key.startsWith('results/'))
      if (isFirst) lost.add(transfer)
      return isFirst
    })
    const tasks = await Promise.all(Array.from({ length: 4 }, () => submit(client, { callbackUrl: receiver.url })))
    for (const { id } of tasks) await untilStatus(client, id, 'succeeded')
    proxy.cut(() => false)
    expect(lost.size).toBeGreaterThanOrEqual(tasks.length * 2)
    await expectOneEach(
      stack,
      receiver,
      tasks.map(({ id }) => id),
    )
  })

  it("loses a node in the middle of a caller's upload: the upload fails, stores nothing, and can be repeated", async () => {
    const { client, bucket } = stack
    const grant = await client.presign({ fileName: 'photo.png', contentType: 'image/png' })
    proxy.cut(({ method }) => method === 'PUT')
    await expect(put(grant, lemur())).rejects.toThrow(/503|fetch failed|terminated/)
    proxy.cut(() => false)
    expect(await bucket.keys(grant.objectKey)).toEqual([])
    const error = await refusedWith(client.createTask({ imageUrl: grant.objectKey }))
    expect(error).toMatchObject({ status: 403, code: 'TASK_INPUT_FORBIDDEN' })
    await put(grant, lemur())
    const { id } = await client.createTask({ imageUrl: grant.objectKey, callbackUrl: receiver.url })
    await untilStatus(client, id, 'succeeded')
    await expectOneEach(stack, receiver, [id])
  })
})

describe('a store 80 ms away', { timeout: 600_000 }, () => {
  const stack = useStack({ processes: ['api'] })
  let far: FarAway
  let triton: Fake
  const tasksOfRun = 40

  beforeAll(async () => {
    ;[far, triton] = await Promise.all([startFarAway(sharedStore().endpoint, 80), startFake()])
  })
  afterAll(async () => {
    far?.close()
    await triton?.kill()
  })

  /** Tasks a second of one worker on a full queue. */
  async function throughput(env: Record<string, string>): Promise<number> {
    const { client, db } = stack
    await writeSetting(db, 'dispatchPaused', true)
    const imageUrl = await client.upload(await smallImage())
    for (let count = 0; count < tasksOfRun; count++) await client.createTask({ imageUrl })
    const worker = await stack.start('worker', { MODELS_STATIC: modelAt(triton), ...env })
    const since = performance.now()
    await writeSetting(db, 'dispatchPaused', false)
    await until('all tasks have succeeded', async () => {
      const open = await db.selectFrom('task').select('id').where('status', '!=', 'succeeded').execute()
      return open.length === 0
    })
    const perSecond = (tasksOfRun * 1_000) / (performance.now() - since)
    await worker.stop()
    return perSecond
  }

  it('is hidden by tasks ahead: requests overlap', async () => {
    const near = await throughput({})
    const usual = await throughput({ S3_ENDPOINT: far.url })
    const ahead = await throughput({ S3_ENDPOINT: far.url, SLOTS_AHEAD: '16' })
    const ratio = (value: number): string => (value / near).toFixed(2)
    process.stdout.write(
      `store 80 ms away: ${near.toFixed(1)}/s nearby; ${ratio(usual)} of it, ${ratio(ahead)} with SLOTS_AHEAD=16\n`,
    )
    expect(far.openMax()).toBeGreaterThanOrEqual(8)
    expect(await findBrokenRules(stack.db)).toEqual({})
  })
})
