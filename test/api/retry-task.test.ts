import { writeSetting } from '@matte/core/setting/setting-queries'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { afterEach, describe, expect, it } from 'vitest'
import { put, type Task } from '../support/client.ts'
import { claimNext, readHistory, readTask, success } from '../support/factories.ts'
import { findBrokenRules } from '../support/invariants.ts'
import { until } from '../support/until.ts'
import { type Caller, claim, hugePng, smallImage, succeed, useApi } from './given.ts'

const world = useApi()

type Failed = Caller & { readonly id: string; readonly overwrite: (bytes: Buffer) => Promise<void> }

/** A task that has failed once; `overwrite` replaces its object, as its grant still allows. */
async function givenFailed(options: { plan?: string; credits?: number; callbackUrl?: string } = {}): Promise<Failed> {
  const { callbackUrl, ...rest } = options
  const caller = await world.caller(rest)
  const grant = await caller.client.presign({ fileName: 'a.png', contentType: 'image/png' })
  await put(grant, await smallImage())
  const { id } = await caller.client.createTask({ imageUrl: grant.objectKey, ...(callbackUrl && { callbackUrl }) })
  await fail(id)
  return { ...caller, id, overwrite: (bytes) => put(grant, bytes) }
}

const fail = async (id: string) => failAttempt(world.db, await claim(world.db, id), 'INPUT_UNREADABLE')
const retry = async ({ client, id }: Pick<Failed, 'client' | 'id'>): Promise<Task> =>
  (await client.call<Task>('POST', `/tasks/${id}/retry`)).data
const lotOf = (workspaceId: string) =>
  world.db
    .selectFrom('credit_lot')
    .select(['available', 'held', 'spent'])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
const workspaceRow = (id: string) =>
  world.db
    .selectFrom('workspace')
    .select(['open_singles', 'queued', 'quota_used'])
    .where('id', '=', id)
    .executeTakeFirst()
const deliveriesOf = (id: string) =>
  world.db.selectFrom('delivery').select(['run', 'event', 'status']).where('task_id', '=', id).orderBy('run').execute()

describe('POST /open/developer/tasks/{taskId}/retry', () => {
  it('returns 200 with the same task queued again, its failure cleared, and its cost', async () => {
    const { client, id, workspaceId } = await givenFailed({ credits: 10 })
    const before = await client.getTask(id)
    expect(before).toMatchObject({ status: 'failed', failure: { reason: 'INPUT_UNREADABLE' } })
    const { status, data } = await client.call<Task>('POST', `/tasks/${id}/retry`)
    expect(status).toBe(200)
    const { durationMs: _, ...rest } = before
    expect(data).toEqual({ ...rest, status: 'queued', completedAt: null, failure: null, retryCount: 1, creditCost: 1 })
    expect(await client.getTask(id)).not.toHaveProperty('creditCost')
    expect(await lotOf(workspaceId)).toEqual({ available: 9, held: 1, spent: 0 })
    expect(await workspaceRow(workspaceId)).toEqual({ open_singles: 1, queued: 1, quota_used: 2 })
    expect(await readHistory(world.db, id)).toEqual(['queued', 'processing', 'failed', 'retried'])
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('starts a new run with new attempts, which can succeed', async () => {
    const { client, id, workspaceId } = await givenFailed({ credits: 10 })
    await retry({ client, id })
    const claimed = await claim(world.db, id)
    expect(claimed).toMatchObject({ run: 2, attempt: 1 })
    await finishTask(world.db, claimed, success(claimed))
    expect(await client.getTask(id)).toMatchObject({ status: 'succeeded', retryCount: 1, failure: null })
    expect(await lotOf(workspaceId)).toEqual({ available: 9, held: 0, spent: 1 })
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('uses the current object', async () => {
    const failed = await givenFailed()
    const { source_etag: before } = await readTask(world.db, failed.id)
    const bytes = await smallImage('png', 60, 50)
    await failed.overwrite(bytes)
    await retry(failed)
    const after = await readTask(world.db, failed.id)
    expect(after.source_etag).not.toBe(before)
    expect(after.source_size_bytes).toBe(bytes.length)
  })

  it('cancels undelivered webhooks of the earlier failure, and nothing else', async () => {
    const failed = await givenFailed({ callbackUrl: 'https://1.1.1.1/hook' })
    await retry(failed)
    expect(await deliveriesOf(failed.id)).toEqual([{ run: 1, event: 'task.failed', status: 'canceled' }])
    await fail(failed.id)
    await world.db
      .updateTable('delivery')
      .set({ status: 'delivered', completed_at: new Date() })
      .where('task_id', '=', failed.id)
      .where('run', '=', 2)
      .execute()
    await retry(failed)
    await succeed(world.db, failed.id)
    expect(await deliveriesOf(failed.id)).toEqual([
      { run: 1, event: 'task.failed', status: 'canceled' },
      { run: 2, event: 'task.failed', status: 'delivered' },
      { run: 3, event: 'task.succeeded', status: 'pending' },
    ])
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('removes the task from the dead-letter queue', async () => {
    const failed = await givenFailed()
    await world.db.updateTable('task').set({ dead_letter: 'due' }).where('id', '=', failed.id).execute()
    await retry(failed)
    expect(await readTask(world.db, failed.id)).toMatchObject({ dead_letter: null })
  })

  it('works three times, then returns TASK_RETRY_LIMIT_EXCEEDED', async () => {
    const failed = await givenFailed()
    for (let count = 1; count <= 3; count++) {
      expect((await retry(failed)).retryCount).toBe(count)
      await fail(failed.id)
    }
    const refused = { status: 400, code: 'TASK_RETRY_LIMIT_EXCEEDED', details: { limit: 3, retryCount: 3 } }
    await expect(retry(failed)).rejects.toMatchObject(refused)
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('makes one retry of two requests with one Idempotency-Key', async () => {
    const { client, id } = await givenFailed()
    const headers = { 'idempotency-key': 'retry-1' }
    const first = await client.call<Task>('POST', `/tasks/${id}/retry`, { headers })
    const second = await client.call<Task>('POST', `/tasks/${id}/retry`, { headers })
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(second.data).toEqual(first.data)
  })

  it('ignores body and content type', async () => {
    const { client, id } = await givenFailed()
    const call = client.call<Task>('POST', `/tasks/${id}/retry`, {
      body: 'no json',
      headers: { 'content-type': 'x/y' },
    })
    expect((await call).data.status).toBe('queued')
  })
})

describe('a retry is rejected', () => {
  it.each([
    ['queued', async () => undefined],
    ['processing', (id: string) => claim(world.db, id)],
    ['succeeded', (id: string) => succeed(world.db, id)],
    ['canceled', (id: string, caller: Caller) => caller.client.cancelTask(id)],
  ])('with TASK_NOT_RETRYABLE while the task is %s', async (status, move) => {
    const caller = await world.caller()
    const { id } = await caller.client.createTask({ imageUrl: await caller.client.upload(await smallImage()) })
    await move(id, caller)
    const refused = { status: 400, code: 'TASK_NOT_RETRYABLE', details: { status } }
    await expect(retry({ ...caller, id })).rejects.toMatchObject(refused)
    expect((await caller.client.getTask(id)).status).toBe(status)
  })

  it.each(['00000000-0000-4000-8000-000000000000', 'none'])('as DEVELOPER_TASK_NOT_FOUND for the id %s', async (id) => {
    const { client } = await world.caller()
    await expect(retry({ client, id })).rejects.toMatchObject({ status: 404, code: 'DEVELOPER_TASK_NOT_FOUND' })
  })

  it('as INVALID_PARAMS for a malformed Idempotency-Key, but an unknown id is reported first', async () => {
    const failed = await givenFailed()
    const headers = { 'idempotency-key': 'x'.repeat(256) }
    const withKey = (id: string) => failed.client.call('POST', `/tasks/${id}/retry`, { headers })
    await expect(withKey(failed.id)).rejects.toMatchObject({ status: 400, code: 'INVALID_PARAMS' })
    await expect(withKey('none')).rejects.toMatchObject({ status: 404, code: 'DEVELOPER_TASK_NOT_FOUND' })
  })

  it('as DEVELOPER_TASK_NOT_FOUND for another workspace', async () => {
    const { id } = await givenFailed()
    const { client } = await world.caller()
    await expect(retry({ client, id })).rejects.toMatchObject({ status: 404, code: 'DEVELOPER_TASK_NOT_FOUND' })
  })

  it('without the scope tasks:write', async () => {
    const { client } = await world.caller({ scopes: ['tasks:read'] })
    await expect(retry({ client, id: 'x' })).rejects.toMatchObject({ status: 403, code: 'API_KEY_INSUFFICIENT_SCOPE' })
  })

  it('at the limit of open tasks, and accepted once one has ended', async () => {
    const failed = await givenFailed({ plan: 'pro' })
    const imageUrl = await failed.client.upload(await smallImage())
    const open = [await failed.client.createTask({ imageUrl }), await failed.client.createTask({ imageUrl })]
    const refused = { status: 400, code: 'TASK_CONCURRENT_LIMIT', details: { limit: 2 } }
    await expect(retry(failed)).rejects.toMatchObject(refused)
    await failed.client.cancelTask(open[0]?.id ?? '')
    expect((await retry(failed)).status).toBe('queued')
  })

  it('when the month’s quota is exhausted', async () => {
    const failed = await givenFailed({ plan: 'pro' })
    await world.db.updateTable('workspace').set({ quota_used: 1_000 }).where('id', '=', failed.workspaceId).execute()
    await expect(retry(failed)).rejects.toMatchObject({ status: 429, code: 'DEVELOPER_API_QUOTA_EXCEEDED' })
  })

  it('without a credit, and changes nothing', async () => {
    const failed = await givenFailed({ credits: 1 })
    await failed.client.createTask({ imageUrl: await failed.client.upload(await smallImage()) })
    await expect(retry(failed)).rejects.toMatchObject({ status: 400, code: 'CREDITS_INSUFFICIENT' })
    expect(await readTask(world.db, failed.id)).toMatchObject({ status: 'failed', run: 1, retry_count: 0 })
    expect(await workspaceRow(failed.workspaceId)).toMatchObject({ open_singles: 1, quota_used: 2 })
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it.each([
    ['no image', Buffer.from('<html></html>'), 'TASK_FORMAT_NOT_SUPPORTED'],
    ['an image of too many pixels', hugePng(30_000), 'TASK_FILE_SIZE_EXCEEDED'],
  ])('when the object is %s now', async (_, bytes, code) => {
    const failed = await givenFailed()
    await failed.overwrite(bytes)
    await expect(retry(failed)).rejects.toMatchObject({ status: 400, code })
    expect((await failed.client.getTask(failed.id)).status).toBe('failed')
  })

  it('with TASK_INPUT_FORBIDDEN when the upload has expired', async () => {
    const failed = await givenFailed()
    const { upload_id } = await readTask(world.db, failed.id)
    await world.db.updateTable('upload').set({ deleted_at: new Date() }).where('id', '=', upload_id).execute()
    await expect(retry(failed)).rejects.toMatchObject({ status: 403, code: 'TASK_INPUT_FORBIDDEN' })
  })
})

describe('fifty concurrent retries', () => {
  it('of one task are one retry, one credit and one slot', async () => {
    const failed = await givenFailed({ plan: 'business', credits: 10 })
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => retry(failed)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'TASK_NOT_RETRYABLE' })
    }
    expect(await lotOf(failed.workspaceId)).toEqual({ available: 9, held: 1, spent: 0 })
    expect(await workspaceRow(failed.workspaceId)).toEqual({ open_singles: 1, queued: 1, quota_used: 2 })
    expect(await readHistory(world.db, failed.id)).toEqual(['queued', 'processing', 'failed', 'retried'])
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('of one task that fails again at once are three, the maximum', async () => {
    const failed = await givenFailed({ plan: 'business', credits: 10 })
    let over = false
    const failing = until('no run is left to fail', async () => {
      const claimed = await claimNext(world.db, ['service-v2'])
      if (claimed) await failAttempt(world.db, claimed, 'INPUT_UNREADABLE')
      return over
    })
    const isExhausted = (): Promise<boolean> =>
      retry(failed).then(
        () => false,
        ({ code }: { code: string }) => {
          expect(['TASK_NOT_RETRYABLE', 'CONFLICT', 'TASK_RETRY_LIMIT_EXCEEDED']).toContain(code)
          return code === 'TASK_RETRY_LIMIT_EXCEEDED'
        },
      )
    await Promise.all(Array.from({ length: 50 }, () => until('the retries are used up', isExhausted)))
    over = true
    await failing
    expect(await failed.client.getTask(failed.id)).toMatchObject({ status: 'failed', retryCount: 3 })
    const history = await readHistory(world.db, failed.id)
    expect(history.filter((event) => event === 'retried')).toHaveLength(3)
    expect(await workspaceRow(failed.workspaceId)).toEqual({ open_singles: 0, queued: 0, quota_used: 4 })
    expect(await lotOf(failed.workspaceId)).toEqual({ available: 10, held: 0, spent: 0 })
    expect(await findBrokenRules(world.db)).toEqual({})
  })

  it('of several tasks never exceed the limit', async () => {
    const caller = await world.caller({ plan: 'business', credits: 50 })
    const imageUrl = await caller.client.upload(await smallImage())
    const ids: string[] = []
    for (let index = 0; index < 10; index++) {
      const { id } = await caller.client.createTask({ imageUrl })
      await fail(id)
      ids.push(id)
    }
    const outcomes = await Promise.allSettled(
      ids.flatMap((id) => Array.from({ length: 5 }, () => retry({ ...caller, id }))),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    expect(await workspaceRow(caller.workspaceId)).toMatchObject({ open_singles: 3, queued: 3 })
    expect(await findBrokenRules(world.db)).toEqual({})
  })
})

// Last: the API keeps rejecting for some seconds after the switch is off again.
describe('a retry in maintenance', () => {
  afterEach(() => writeSetting(world.db, 'maintenance', false))

  it('returns TASK_MAINTENANCE, but an unknown id is reported first', async () => {
    const failed = await givenFailed()
    await writeSetting(world.db, 'maintenance', true)
    const other = await world.caller()
    await until('maintenance is in force', () =>
      other.client.createTask({ imageUrl: 'x' }).catch((error: { code: string }) => error.code === 'TASK_MAINTENANCE'),
    )
    await expect(retry(failed)).rejects.toMatchObject({ status: 503, code: 'TASK_MAINTENANCE' })
    await expect(retry({ ...failed, id: 'none' })).rejects.toMatchObject({ code: 'DEVELOPER_TASK_NOT_FOUND' })
  })
})
