import { openBucket } from '@matte/core/storage/bucket'
import { failAttempt } from '@matte/core/task/run/finish-task'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { TaskPage } from '../support/client.ts'
import { claim, smallImage, succeed, useApi } from './given.ts'

const world = useApi()
const stranger = '0d9f2f3c-7f5b-4f0e-8b55-0a8a7c5be0c1'

async function givenTasks(count: number) {
  const caller = await world.caller({ plan: 'internal' })
  const imageUrl = await caller.client.upload(await smallImage())
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.unshift((await caller.client.createTask({ imageUrl })).id)
  return { ...caller, ids }
}

describe('GET /open/developer/tasks/{taskId}', () => {
  it('returns DEVELOPER_TASK_NOT_FOUND for unknown ids and for those of other workspaces', async () => {
    const { ids } = await givenTasks(1)
    const { client } = await world.caller()
    const unknown = { status: 404, code: 'DEVELOPER_TASK_NOT_FOUND' }
    for (const id of [
      stranger,
      ids[0] ?? '',
      'nonsense',
      '%00',
      '1',
      'x'.repeat(500),
      encodeURIComponent("' or 1=1"),
    ]) {
      await expect(client.getTask(id)).rejects.toMatchObject(unknown)
      await expect(client.cancelTask(id)).rejects.toMatchObject(unknown)
    }
  })

  it('returns queued and processing tasks without cost and duration', async () => {
    const { client, ids } = await givenTasks(1)
    const [id = ''] = ids
    const queued = await client.getTask(id)
    expect(queued).toMatchObject({ id, status: 'queued', resultUrl: null, completedAt: null })
    await claim(world.db, id)
    const processing = await client.getTask(id)
    expect(processing.status).toBe('processing')
    for (const task of [queued, processing]) {
      expect(task).not.toHaveProperty('creditCost')
      expect(task).not.toHaveProperty('durationMs')
    }
  })

  it('returns a succeeded task with a fresh public link to its result each time', async () => {
    const { client, ids } = await givenTasks(1)
    const [id = ''] = ids
    const key = await succeed(world.db, id)
    const { config } = world.api
    const bucket = openBucket({
      internalEndpoint: config.s3Endpoint,
      publicEndpoint: config.s3PublicEndpoint,
      bucket: config.s3Bucket,
      region: config.s3Region,
      accessKeyId: config.s3AccessKeyId,
      secretAccessKey: config.s3SecretAccessKey,
    })
    await bucket.put(key, Buffer.from('the cut-out'), { contentType: 'image/png' })
    bucket.close()
    const task = await client.getTask(id)
    expect(task).toMatchObject({ status: 'succeeded', width: 40, height: 30, resultFormat: 'png', failure: null })
    expect(task.foreground).toEqual({ top: 1, left: 2, width: 3, height: 4 })
    expect(task.durationMs).toBeGreaterThanOrEqual(0)
    expect(task.completedAt).not.toBeNull()
    const url = new URL(task.resultUrl ?? '')
    expect(url.origin).toBe(world.api.url)
    expect(url.searchParams.get('X-Amz-Expires')).toBe('604800')
    const response = await fetch(url)
    expect(await response.text()).toBe('the cut-out')
    expect(response.headers.get('content-type')).toBe('image/png')
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${id}.png"`)
  })

  it('returns a failed task with its reason in fixed words', async () => {
    const { client, ids } = await givenTasks(1)
    const [id = ''] = ids
    await failAttempt(world.db, await claim(world.db, id), 'INPUT_UNREADABLE')
    const task = await client.getTask(id)
    expect(task).toMatchObject({
      status: 'failed',
      resultUrl: null,
      failure: { reason: 'INPUT_UNREADABLE', message: expect.any(String), retryable: false },
    })
    expect(task.completedAt).not.toBeNull()
    expect(task).not.toHaveProperty('durationMs')
  })
})

describe('GET /open/developer/tasks', () => {
  it('returns pages of own tasks, newest first', async () => {
    const { client, ids } = await givenTasks(5)
    const first = await client.listTasks({ pageSize: '2' })
    expect(first).toMatchObject({ page: 1, pageSize: 2, total: 5, totalPages: 3, nextCursor: expect.any(String) })
    const pages = [
      first,
      await client.listTasks({ page: '2', pageSize: '2' }),
      await client.listTasks({ page: '3', pageSize: '2' }),
    ]
    expect(pages.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(ids)
    expect(pages[2]?.nextCursor).toBeNull()
    expect((await (await world.caller()).client.listTasks()).items).toEqual([])
  })

  it('returns every task once by cursors, also while new ones arrive', async () => {
    const { client, ids } = await givenTasks(5)
    const imageUrl = await client.upload(await smallImage())
    const seen: string[] = []
    let page: TaskPage = await client.listTasks({ pageSize: '2' })
    for (let number = 1; ; number++) {
      expect(page.page).toBe(number)
      seen.push(...page.items.map(({ id }) => id))
      if (page.nextCursor === null) break
      await client.createTask({ imageUrl })
      page = await client.listTasks({ pageSize: '2', cursor: page.nextCursor })
    }
    expect(seen).toEqual(ids)
  })

  it('distinguishes tasks of the same instant by cursor', async () => {
    const { client, workspaceId } = await givenTasks(4)
    const same = sql<Date>`'2026-03-01T12:00:00.123456Z'`
    await world.db.updateTable('task').set({ created_at: same }).where('workspace_id', '=', workspaceId).execute()
    const first = await client.listTasks({ pageSize: '3' })
    const second = await client.listTasks({ pageSize: '3', cursor: first.nextCursor ?? '' })
    expect(new Set([...first.items, ...second.items].map(({ id }) => id)).size).toBe(4)
  })

  it('returns 200 without items past the end', async () => {
    const { client } = await givenTasks(1)
    for (const page of ['2', '1000000', '999999999999999']) {
      expect(await client.listTasks({ page })).toMatchObject({ items: [], total: 1, totalPages: 1, nextCursor: null })
    }
  })

  it('filters by status', async () => {
    const { client, ids } = await givenTasks(3)
    await client.cancelTask(ids[1] ?? '')
    const canceled = await client.listTasks({ status: 'canceled' })
    expect(canceled.items.map(({ id }) => id)).toEqual([ids[1]])
    expect((await client.listTasks({ status: 'queued' })).total).toBe(2)
    expect((await client.listTasks({ status: 'succeeded' })).total).toBe(0)
  })

  it.each([
    [{ minConfidence: '0.9' }, [1, 0.9]],
    [{ maxConfidence: '0.89' }, [0.89, 0]],
    [{ minConfidence: '0.89', maxConfidence: '0.9' }, [0.9, 0.89]],
    [{ minConfidence: '0', maxConfidence: '1', status: 'succeeded' }, [1, 0.9, 0.89, 0]],
    [{ minConfidence: '', maxConfidence: '' }, [undefined, undefined, 1, 0.9, 0.89, 0]],
  ])('filters by confidence, both ends included: %j finds %j', async (query, found) => {
    const { client, ids } = await givenTasks(6)
    // The last task but one gave no measure, the last is still queued.
    for (const [i, confidence] of [0, 0.89, 0.9, 1, undefined].entries()) {
      await succeed(world.db, ids[ids.length - 1 - i] ?? '', undefined, confidence)
    }
    const { items, total } = await client.listTasks(query as Record<string, string>)
    expect(items.map(({ confidence }) => confidence)).toEqual(found)
    expect(total).toBe(found.length)
    expect(items.every((task) => task.confidence !== undefined || !('confidence' in task))).toBe(true)
  })

  it.each([
    [{ startDate: '2026-03-01' }, 3],
    [{ startDate: '2026-03-01', endDate: '2026-03-01' }, 2],
    [{ endDate: '2026-02-28' }, 1],
    [{ startDate: '2026-03-02' }, 1],
    [{ startDate: '2026-03-01T00:00:00Z', endDate: '2026-03-01T12:00:00.123Z' }, 2],
    [{ startDate: '2026-03-01T12:00:00.124Z' }, 1],
    [{ startDate: '2026-03-01T13:00:00.123+01:00', endDate: '2026-03-01T13:00:00.123+01:00' }, 1],
    [{ startDate: '2026-03-01T12:00:00' }, 2],
    [{ startDate: '', endDate: '', status: '', page: '', cursor: '' }, 4],
  ])('filters by dates, both ends included: %j finds %d', async (query, total) => {
    const { client, ids } = await givenTasks(4)
    const times = [
      '2026-02-28T23:59:59.999999Z',
      '2026-03-01T00:00:00Z',
      '2026-03-01T12:00:00.123456Z',
      '2026-03-02T00:00:00Z',
    ]
    for (const [index, time] of times.entries()) {
      const created_at = sql<Date>`${time}::timestamptz`
      await world.db
        .updateTable('task')
        .set({ created_at })
        .where('id', '=', ids[index] ?? '')
        .execute()
    }
    expect((await client.listTasks(query as Record<string, string>)).total).toBe(total)
  })

  it.each([
    [{ pageSize: '0' }, '/query/pageSize'],
    [{ pageSize: '101' }, '/query/pageSize'],
    [{ pageSize: '1.5' }, '/query/pageSize'],
    [{ pageSize: '1e1' }, '/query/pageSize'],
    [{ pageSize: 'ten' }, '/query/pageSize'],
    [{ page: '0' }, '/query/page'],
    [{ page: '-1' }, '/query/page'],
    [{ page: '99999999999999999999' }, '/query/page'],
    [{ status: 'done' }, '/query/status'],
    [{ status: 'QUEUED' }, '/query/status'],
    [{ startDate: '2026-02-30' }, '/query/startDate'],
    [{ startDate: 'yesterday' }, '/query/startDate'],
    [{ startDate: '2026-13-01' }, '/query/startDate'],
    [{ endDate: '01/02/2026' }, '/query/endDate'],
    [{ endDate: '2026-01-01T25:00:00Z' }, '/query/endDate'],
    [{ startDate: '2026-03-02', endDate: '2026-03-01' }, '/query/endDate'],
    [{ minConfidence: '1.01' }, '/query/minConfidence'],
    [{ maxConfidence: '-0.1' }, '/query/maxConfidence'],
    [{ maxConfidence: '9e-1' }, '/query/maxConfidence'],
    [{ maxConfidence: 'high' }, '/query/maxConfidence'],
    [{ minConfidence: '0.9', maxConfidence: '0.5' }, '/query/maxConfidence'],
    [{ cursor: 'nonsense' }, '/query/cursor'],
    [{ cursor: 'MS4yLjM' }, '/query/cursor'],
  ])('rejects %j as INVALID_PARAMS', async (query, path) => {
    const { client } = await world.caller()
    const refused = { status: 400, code: 'INVALID_PARAMS', details: { issues: [{ path }] } }
    await expect(client.listTasks(query as Record<string, string>)).rejects.toMatchObject(refused)
  })

  it.each([
    [{ minConfidence: '90' }, 'must be <= 1'],
    [{ minConfidence: '-0.5' }, 'must be >= 0'],
    [{ minConfidence: 'high' }, 'must be number'],
  ])('says what is wrong with %j: it %s', async (query, message) => {
    const { client } = await world.caller()
    const refused = { details: { issues: [{ path: '/query/minConfidence', message }] } }
    await expect(client.listTasks(query)).rejects.toMatchObject(refused)
  })

  it('rejects a parameter given twice, and a cursor together with a page', async () => {
    const { client } = await givenTasks(2)
    await expect(client.call('GET', '/tasks?page=1&page=2')).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    const { nextCursor } = await client.listTasks({ pageSize: '1' })
    await expect(client.listTasks({ cursor: nextCursor ?? '', page: '2' })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: '/query/cursor' }] },
    })
  })
})
