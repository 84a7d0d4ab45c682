import { failAttempt } from '@matte/core/task/run/finish-task'
import { describe, expect, it } from 'vitest'
import { readMetrics } from '../e2e/support/metrics.ts'
import type { Client, Task } from '../support/client.ts'
import { withNats } from '../support/nats.ts'
import { until } from '../support/until.ts'
import { claim, smallImage, succeed, useApi } from './given.ts'

const world = useApi()

type Batch = { id: string; status: string; totalCount: number; canceledCount: number; tasks: Task[] }
type Page = {
  items: Batch[]
  page: number
  pageSize: number
  total: number
  totalPages: number
  nextCursor: string | null
}

async function givenBatches(count: number, size = 1, plan = 'internal') {
  const caller = await world.caller({ plan })
  const imageUrl = await caller.client.upload(await smallImage())
  const imageUrls = Array.from({ length: size }, () => imageUrl)
  const batches: Batch[] = []
  for (let index = 0; index < count; index++) {
    batches.push((await caller.client.call<Batch>('POST', '/batch-tasks', { body: { imageUrls } })).data)
  }
  return { ...caller, batches }
}

const list = async (client: Client, query = ''): Promise<Page> =>
  (await client.call<Page>('GET', `/batch-tasks${query}`)).data
const get = async (client: Client, id: string): Promise<Batch> =>
  (await client.call<Batch>('GET', `/batch-tasks/${id}`)).data

describe('GET /open/developer/batch-tasks', () => {
  it('returns a page of batches without their tasks, newest first', async () => {
    const { client, batches } = await givenBatches(3, 2)
    const page = await list(client)
    expect(page).toMatchObject({ page: 1, pageSize: 20, total: 3, totalPages: 1, nextCursor: null })
    expect(page.items.map(({ id }) => id)).toEqual(batches.map(({ id }) => id).reverse())
    const { tasks, ...summary } = batches[2] as Batch
    expect(tasks).toHaveLength(2)
    expect(page.items[0]).toEqual(summary)
  })

  it('returns 20 batches by default', async () => {
    const { client } = await givenBatches(21)
    const first = await list(client)
    expect([first.items.length, first.pageSize, first.total, first.totalPages]).toEqual([20, 20, 21, 2])
    const rest = await list(client, `?cursor=${first.nextCursor}`)
    expect([rest.items.length, rest.page, rest.pageSize, rest.nextCursor]).toEqual([1, 2, 20, null])
    const all = await list(client, '?pageSize=100')
    expect([all.items.length, all.pageSize, all.totalPages]).toEqual([21, 100, 1])
  })

  it('lists no other workspace’s batches', async () => {
    await givenBatches(1)
    const { client } = await world.caller()
    expect(await list(client)).toEqual({ items: [], page: 1, pageSize: 20, total: 0, totalPages: 0, nextCursor: null })
  })

  it('lists all by page and by cursor alike', async () => {
    const { client, batches } = await givenBatches(5)
    const ids = batches.map(({ id }) => id).reverse()
    const byPage = [await list(client, '?pageSize=2'), await list(client, '?pageSize=2&page=2')]
    expect(byPage.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(ids.slice(0, 4))
    const seen: string[] = []
    for (let query = '?pageSize=2'; query !== ''; ) {
      const { items, nextCursor } = await list(client, query)
      seen.push(...items.map(({ id }) => id))
      query = nextCursor === null ? '' : `?pageSize=2&cursor=${nextCursor}`
    }
    expect(seen).toEqual(ids)
    expect(await list(client, '?page=9')).toMatchObject({ items: [], total: 5 })
  })

  it.each(['pageSize=0', 'pageSize=101', 'page=0', 'cursor=x', 'pageSize=a'])('%s is INVALID_PARAMS', async (query) => {
    const { client } = await world.caller()
    await expect(list(client, `?${query}`)).rejects.toMatchObject({ status: 400, code: 'INVALID_PARAMS' })
  })
})

describe('GET /open/developer/batch-tasks/{batchId}', () => {
  it('returns the batch with the current state of its tasks', async () => {
    const { client, batches } = await givenBatches(1, 3)
    const [{ id, tasks }] = batches as [Batch]
    const [first, second] = tasks as [Task, Task, Task]
    await succeed(world.db, first.id)
    await failAttempt(world.db, await claim(world.db, second.id), 'INPUT_UNREADABLE')
    const batch = await get(client, id)
    expect(batch).toMatchObject({
      status: 'processing',
      totalCount: 3,
      succeededCount: 1,
      failedCount: 1,
      canceledCount: 0,
      completedAt: null,
    })
    expect(batch.tasks.map((task) => task.id)).toEqual(tasks.map((task) => task.id))
    expect(batch.tasks.map(({ status }) => status)).toEqual(['succeeded', 'failed', 'queued'])
    expect(batch.tasks[0]).toEqual({ ...(await client.getTask(first.id)), resultUrl: expect.stringContaining('http') })
    for (const task of batch.tasks) expect(task).not.toHaveProperty('creditCost')
  })

  it.each(['00000000-0000-4000-8000-000000000000', 'none', '%00'])('%s is DEVELOPER_BATCH_NOT_FOUND', async (id) => {
    const { client } = await world.caller()
    await expect(get(client, id)).rejects.toMatchObject({ status: 404, code: 'DEVELOPER_BATCH_NOT_FOUND' })
  })

  it('of another workspace is DEVELOPER_BATCH_NOT_FOUND, for DELETE as well', async () => {
    const { batches } = await givenBatches(1)
    const { client } = await world.caller()
    const path = `/batch-tasks/${batches[0]?.id}`
    for (const method of ['GET', 'DELETE']) {
      await expect(client.call(method, path)).rejects.toMatchObject({ status: 404, code: 'DEVELOPER_BATCH_NOT_FOUND' })
    }
  })

  it('requires the scope batches:read, and DELETE batches:write', async () => {
    const { client } = await world.caller({ scopes: ['batches:write'] })
    const reader = await world.caller({ scopes: ['batches:read'] })
    const refused = { status: 403, code: 'API_KEY_INSUFFICIENT_SCOPE' }
    await expect(list(client)).rejects.toMatchObject(refused)
    await expect(get(client, 'x')).rejects.toMatchObject(refused)
    await expect(reader.client.call('DELETE', '/batch-tasks/x')).rejects.toMatchObject(refused)
  })
})

describe('DELETE /open/developer/batch-tasks/{batchId}', () => {
  it('cancels queued tasks and keeps processing ones', async () => {
    const { client, batches } = await givenBatches(1, 4, 'pro')
    const [{ id, tasks }] = batches as [Batch]
    await claim(world.db, tasks[0]?.id ?? '')
    const before = await readMetrics(world.api)
    const { status, data } = await client.call<Batch>('DELETE', `/batch-tasks/${id}`)
    expect(status).toBe(200)
    const after = await readMetrics(world.api)
    const grown = (name: string, labels: Readonly<Record<string, string>>) =>
      after.sum(name, { plan: 'pro', ...labels }) - before.sum(name, { plan: 'pro', ...labels })
    expect(grown('matte_task_completion_seconds_count', { status: 'canceled' })).toBe(3)
    expect(grown('matte_credits_settled_total', { outcome: 'released' })).toBe(3)
    expect(data).toMatchObject({ id, status: 'processing', canceledCount: 3 })
    expect(data.tasks.map((task) => task.status)).toEqual(['processing', 'canceled', 'canceled', 'canceled'])
    expect(await get(client, id)).toEqual(data)
  })

  it('completes a batch that had not begun, and works once', async () => {
    const { client, batches } = await givenBatches(1, 2)
    const path = `/batch-tasks/${batches[0]?.id}`
    const { data } = await client.call<Batch>('DELETE', path)
    expect(data).toMatchObject({ status: 'completed', canceledCount: 2, completedAt: expect.any(String) })
    await expect(client.call('DELETE', path)).rejects.toMatchObject({ status: 409, code: 'TASK_CANNOT_CANCEL' })
  })
})

describe('a batch whose last queued task is canceled', () => {
  it('completes at once, by DELETE of the batch or of the task', async () => {
    const { natsUrl, natsStreamPrefix } = world.api.config
    await withNats(natsUrl, async (connection) => {
      const nudged: string[] = []
      connection.subscribe(`${natsStreamPrefix}.delivery`, {
        callback: (_fault, nudge) => void nudged.push(nudge.string()),
      })
      await connection.flush()
      await until('the API is connected, and a canceled batch is announced', async () => {
        const { client, batches } = await givenBatches(1)
        await client.call('DELETE', `/batch-tasks/${batches[0]?.id}`)
        return nudged.length > 0
      })
      const { client, batches } = await givenBatches(1)
      await client.cancelTask(batches[0]?.tasks[0]?.id ?? '')
      await until('the other is announced', () => nudged.includes(batches[0]?.id ?? ''))
    })
  })
})
