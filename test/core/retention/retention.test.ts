// Retention (D24): unused uploads, finished tasks after the days of their plan, and objects of both. The sweep gets its
// time like from an operator (`--now`); row times stay unchanged.

import { randomUUID } from 'node:crypto'
import { announceCleanups } from '@matte/core/retention/announce-cleanup'
import { deleteDueObjects } from '@matte/core/retention/delete-objects'
import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { resultKey } from '@matte/core/storage/object-key'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { failAttempt } from '@matte/core/task/run/finish-task'
import type { TaskRow } from '@matte/core/task/task-queries'
import { insertEndpoint } from '@matte/core/webhook/endpoint/endpoint-changes'
import type { WebhookEvent } from '@matte/core/webhook/events'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { defaultPlans as plans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../../support/database.ts'
import { givenClaimed, givenUpload, givenWorkspace, onePixelPng } from '../../support/factories.ts'
import { memoryBucket } from '../../support/memory-bucket.ts'
import { common, inDays, retentionWorld } from './world.ts'

describe('retention', () => {
  const database = useDatabase()
  const { sweep, create, givenSucceeded, exists, has, linesOf } = retentionWorld(database)
  const eventsOf = async (workspaceId: string) => {
    const rows = await database.db
      .selectFrom('delivery')
      .select(['event', 'body'])
      .where('workspace_id', '=', workspaceId)
      .where('task_id', 'is', null)
      .orderBy('created_at')
      .execute()
    return rows.map(({ body }) => JSON.parse(body) as { event: string; count: number; days: number })
  }
  const givenEndpoint = (workspaceId: string, eventTypes: readonly WebhookEvent[] = []) => {
    const href = 'http://receiver.example/all'
    const target = { text: href, href, host: 'receiver.example:80' }
    const secrets = { secretSealed: 'sealed', headers: { sealed: null, masked: null } }
    const rest = { description: null, createdBy: null, ...secrets }
    return insertEndpoint(database.db, { id: randomUUID(), workspaceId, target, eventTypes, ...rest })
  }

  it('keeps a finished task for 30 days, and its objects for 8 days more', async () => {
    const { db } = database
    const bucket = memoryBucket()
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 2 })
    const task = await givenSucceeded(workspace, bucket)
    await sweep(29.9, bucket)
    expect(await exists('task', task.id)).toBe(true)
    expect(await sweep(30.1, bucket)).toMatchObject({ tasks_deleted: 1, objects_deleted: 0 })
    expect(await exists('task', task.id)).toBe(false)
    await sweep(38, bucket)
    expect([await has(bucket, task.source_key), await has(bucket, task.result_key ?? '')]).toEqual([true, true])
    expect(await sweep(38.2, bucket)).toMatchObject({ objects_deleted: 2 })
    expect([await has(bucket, task.source_key), await has(bucket, task.result_key ?? '')]).toEqual([false, false])
    expect(await linesOf([task.source_key, task.result_key])).toEqual([])
    expect(await db.selectFrom('upload').select('id').where('id', '=', task.upload_id).execute()).toEqual([])
  })

  it('deletes unrecorded objects of workers together with the task', async () => {
    const { db } = database
    const bucket = memoryBucket()
    const workspace = await givenWorkspace(db)
    const succeeded = await givenSucceeded(workspace, bucket)
    const lost = resultKey({ ...succeeded, claim: randomUUID(), createdAt: succeeded.created_at }, 'png')
    const failed = await givenClaimed(db, workspace)
    const unrecorded = resultKey(failed, 'webp')
    const young = await givenClaimed(db, workspace)
    for (const key of [lost, unrecorded, resultKey(young, 'png')]) {
      await bucket.put(key, onePixelPng, { contentType: 'image/png' })
    }
    await failAttempt(db, failed, 'INPUT_UNREADABLE')
    await sweep(31, bucket)
    await sweep(38, bucket)
    expect([await has(bucket, lost), await has(bucket, unrecorded)]).toEqual([true, true])
    await sweep(40, bucket)
    expect(await bucket.list('results/')).toEqual([resultKey(young, 'png')])
  })

  it('deletes history, deliveries and holds too, and keeps ledger and counters', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 2 })
    const task = await givenSucceeded(workspace)
    await sweep(31)
    for (const table of ['task_event', 'delivery', 'credit_hold'] as const) {
      expect(await db.selectFrom(table).select('task_id').where('task_id', '=', task.id).execute()).toEqual([])
    }
    const entries = await db.selectFrom('credit_entry').select('to_account').where('task_id', '=', task.id).execute()
    expect(entries.map((entry) => entry.to_account).sort()).toEqual(['held', 'spent'])
    const lots = await db.selectFrom('credit_lot').selectAll().where('workspace_id', '=', workspace.id).execute()
    expect(lots).toMatchObject([{ available: 1, held: 0, spent: 1 }])
    const usage = await db.selectFrom('usage_day').selectAll().where('workspace_id', '=', workspace.id).execute()
    expect(usage).toMatchObject([{ created: 1, succeeded: 1, credits: 1 }])
  })

  it('uses the workspace’s plan, and keeps tasks of plans that are not configured', async () => {
    const { db } = database
    const configured = parsePlans({ short: { retentionDays: 7 } })
    const [short, unknown] = [await givenWorkspace(db), await givenWorkspace(db)]
    const [gone, kept] = [await givenSucceeded(short), await givenSucceeded(unknown)]
    await db.updateTable('workspace').set({ plan: 'short' }).where('id', '=', short.id).execute()
    await db.updateTable('workspace').set({ plan: 'forgotten' }).where('id', '=', unknown.id).execute()
    await sweepRetention({ ...common, db, plans: configured, bucket: undefined }, { now: inDays(7.1) })
    expect([await exists('task', gone.id), await exists('task', kept.id)]).toEqual([false, true])
  })

  it('never deletes an unfinished task, however old', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db, { plan: 'pro', credits: 2 })
    const bucket = memoryBucket()
    const { objectKey } = await givenUpload(db, workspace.id, bucket)
    const queued = await create(workspace, bucket, objectKey)
    const processing = await givenClaimed(db, workspace)
    await sweep(1_000, bucket)
    expect([await exists('task', queued.id), await exists('task', processing.id)]).toEqual([true, true])
    expect(await has(bucket, objectKey)).toBe(true)
  })

  it('deletes canceled and failed tasks like succeeded ones', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const bucket = memoryBucket()
    const { objectKey } = await givenUpload(db, workspace.id, bucket)
    const canceled = await create(workspace, bucket, objectKey)
    await cancelTask(db, workspace.id, canceled.id)
    const failed = await givenClaimed(db, workspace)
    await failAttempt(db, failed, 'INPUT_UNREADABLE')
    await sweep(31, bucket)
    expect([await exists('task', canceled.id), await exists('task', failed.id)]).toEqual([false, false])
  })

  it('keeps an object of several tasks until the last of them is gone', async () => {
    const { db } = database
    const bucket = memoryBucket()
    const workspace = await givenWorkspace(db)
    const { objectKey } = await givenUpload(db, workspace.id, bucket)
    const first = await givenSucceeded(workspace, bucket, objectKey)
    const second = await create(workspace, bucket, objectKey)
    await sweep(31, bucket)
    expect([await exists('task', first.id), await exists('task', second.id)]).toEqual([false, true])
    await sweep(60, bucket)
    expect([await has(bucket, first.result_key ?? ''), await has(bucket, objectKey)]).toEqual([false, true])
    await cancelTask(db, workspace.id, second.id)
    await sweep(31, bucket)
    await sweep(40, bucket)
    expect(await has(bucket, objectKey)).toBe(false)
  })

  it('deletes a batch with the last of its children', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const task = await givenSucceeded(workspace)
    const batch = await db
      .insertInto('batch')
      .values({ workspace_id: workspace.id, total_count: 1, model_version: 'service-v2' })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db.updateTable('task').set({ batch_id: batch.id }).where('id', '=', task.id).execute()
    await sweep(29)
    expect(await exists('batch', batch.id)).toBe(true)
    await sweep(31)
    expect(await exists('batch', batch.id)).toBe(false)
  })

  it('releases an upload unused for 24 hours, and deletes its object at once', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const bucket = memoryBucket()
    const { objectKey } = await givenUpload(db, workspace.id, bucket)
    await sweep(23.9 / 24, bucket)
    expect(await has(bucket, objectKey)).toBe(true)
    await sweep(24.1 / 24, bucket)
    expect(await has(bucket, objectKey)).toBe(false)
    await expect(create(workspace, bucket, objectKey)).rejects.toMatchObject({ code: 'TASK_INPUT_FORBIDDEN' })
  })

  it('does the same work once, however often and by however many replicas it runs', async () => {
    const { db } = database
    const bucket = memoryBucket()
    const workspace = await givenWorkspace(db)
    await givenEndpoint(workspace.id)
    const tasks: TaskRow[] = []
    for (let index = 0; index < 12; index++) tasks.push(await givenSucceeded(workspace, bucket))
    const replicas = Array.from({ length: 4 }, () => connectTo(database.url, 2))
    const now = inDays(31)
    const counts = await Promise.all(
      replicas.map(async (replica) => {
        let deleted = 0
        for (let round = 0; round < 6; round++) {
          deleted += await deleteOldTasks(replica.db, plans, { now, limit: 3 })
          await announceCleanups(replica.db, plans, { now })
        }
        return deleted
      }),
    )
    const objects = await Promise.all(
      replicas.map((replica) => deleteDueObjects(replica.db, bucket, { now: inDays(40) })),
    )
    await Promise.all(replicas.map((replica) => replica.stop()))
    expect(counts.reduce((sum, count) => sum + count)).toBe(12)
    expect(objects.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(24)
    expect(await linesOf(tasks.flatMap((task) => [task.source_key, task.result_key]))).toEqual([])
    expect(await sweep(31, bucket)).toMatchObject({ tasks_deleted: 0, cleanups_announced: 0 })
    const announced = await eventsOf(workspace.id)
    const notice = await db
      .selectFrom('retention_notice')
      .select('deleted')
      .where('workspace_id', '=', workspace.id)
      .executeTakeFirstOrThrow()
    expect(announced).toHaveLength(1)
    expect((announced[0]?.count ?? 0) + notice.deleted).toBe(12)
  })

  it('is announced to endpoints once a day, and later deletions the next day', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    await givenEndpoint(workspace.id, ['task.retention_cleanup'])
    await givenEndpoint(workspace.id, ['task.succeeded'])
    await givenSucceeded(workspace)
    await givenSucceeded(workspace)
    await sweep(31)
    expect(await eventsOf(workspace.id)).toEqual([
      { event: 'task.retention_cleanup', count: 2, days: 30, message: expect.stringContaining('2 finished tasks') },
    ])
    await givenSucceeded(workspace)
    await sweep(31)
    expect(await eventsOf(workspace.id)).toHaveLength(1)
    await sweep(32)
    expect((await eventsOf(workspace.id)).map(({ count }) => count)).toEqual([2, 1])
    await sweep(33)
    expect(await eventsOf(workspace.id)).toHaveLength(2)
  })

  it('announces to a workspace although others with unconfigured plans wait', async () => {
    const { db } = database
    const forgotten = await givenWorkspace(db)
    const announced = await givenWorkspace(db)
    for (const { id } of [forgotten, announced]) {
      await givenEndpoint(id)
      await sql`insert into retention_notice (workspace_id, deleted) values (${id}, 1)`.execute(db)
    }
    await db.updateTable('workspace').set({ plan: 'forgotten' }).where('id', '=', forgotten.id).execute()
    expect(await announceCleanups(db, plans, { now: inDays(31), limit: 1 })).toBe(1)
    expect(await eventsOf(announced.id)).toHaveLength(1)
    expect(await eventsOf(forgotten.id)).toEqual([])
  })

  it('deletes deliveries without a task after the same days', async () => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    await givenEndpoint(workspace.id)
    await givenSucceeded(workspace)
    await sweep(31)
    expect(await eventsOf(workspace.id)).toHaveLength(1)
    await db
      .updateTable('delivery')
      .set({ status: 'delivered', completed_at: new Date() })
      .where('workspace_id', '=', workspace.id)
      .execute()
    await sweep(29)
    expect(await eventsOf(workspace.id)).toHaveLength(1)
    await sweep(30.1)
    expect(await eventsOf(workspace.id)).toEqual([])
  })
})
