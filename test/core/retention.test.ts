// What ends by time (D24): unused uploads, finished tasks after their plan's days, and the objects of both. Time is
// given to the sweep as an operator would (`--now`); no row's times are touched.
import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { countsOrThrow } from '@matte/core/db/sweep'
import { announceCleanups } from '@matte/core/retention/announce-cleanup'
import { deleteDueObjects, forgetObjects, takeDueObjects } from '@matte/core/retention/delete-objects'
import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { releaseUnusedUploads } from '@matte/core/retention/release-uploads'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import type { Bucket } from '@matte/core/storage/bucket'
import { resultKey } from '@matte/core/storage/result-key'
import { StorageError } from '@matte/core/storage/storage-error'
import { createTask } from '@matte/core/task/create-task'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import type { TaskRow } from '@matte/core/task/task-queries'
import { insertEndpoint } from '@matte/core/webhook/endpoint/endpoint-changes'
import type { WebhookEvent } from '@matte/core/webhook/events'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { defaultPlans as plans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { connectTo, databases, useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenClaimed,
  givenUpload,
  givenWorkspace,
  onePixelPng,
  ownModel,
  success,
  type TestWorkspace,
} from '../support/factories.ts'
import { memoryBucket } from '../support/memory-bucket.ts'
import { until } from '../support/until.ts'

const common = { plans, auditRetentionDays: 365 }
/** A moment so many days from now; half a day more keeps clear of the bounds. */
const inDays = (days: number): Date => new Date(Date.now() + days * 86_400_000)

/** Until somebody of this database waits for a lock. */
const untilWaiting = (db: Db) =>
  until('the sweep waits for the creation', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    return rows.length > 0
  })

for (const { version, url, missing } of databases()) {
  describe.skipIf(missing)(`retention on PostgreSQL ${version}`, () => {
    const database = useDatabase(url)
    const sweep = (days: number, bucket: Pick<Bucket, 'delete' | 'list'> = memoryBucket()) =>
      sweepRetention({ ...common, db: database.db, bucket }, { now: inDays(days) }).then(countsOrThrow)

    const create = (workspace: TestWorkspace, bucket: Bucket, imageUrl: string, model = ownModel()) =>
      createTask(database.db, bucket, {
        workspaceId: workspace.id,
        plan: workspace.plan,
        imageUrl,
        modelVersion: model,
        callbackUrl: 'http://receiver.example/hook',
        traceparent: null,
      })

    /** A succeeded task with source and result in the bucket. */
    async function givenSucceeded(
      workspace: TestWorkspace,
      bucket: Bucket = memoryBucket(),
      imageUrl?: string,
    ): Promise<TaskRow> {
      const { db } = database
      const model = ownModel()
      const source = imageUrl ?? (await givenUpload(db, workspace.id, bucket)).objectKey
      await create(workspace, bucket, source, model)
      const claim = await claimNext(db, [model])
      if (claim === undefined) throw new Error('the new task could not be claimed')
      const ending = success(claim)
      if (ending.status === 'succeeded') await bucket.put(ending.resultKey, onePixelPng, { contentType: 'image/png' })
      return (await finishTask(db, claim, ending)) as TaskRow
    }

    const exists = async (table: 'task' | 'batch' | 'workspace', id: string): Promise<boolean> =>
      (await database.db.selectFrom(table).select('id').where('id', '=', id).executeTakeFirst()) !== undefined
    const has = (bucket: Bucket, key: string): Promise<boolean> =>
      bucket.head(key, 1).then(
        () => true,
        () => false,
      )
    const linesOf = (keys: readonly (string | null)[]) =>
      database.db
        .selectFrom('object_deletion')
        .select('object_key')
        .where(
          'object_key',
          'in',
          keys.flatMap((key) => key ?? []),
        )
        .execute()
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
      const secret = { description: null, secretSealed: 'sealed' }
      return insertEndpoint(database.db, { id: randomUUID(), workspaceId, target, eventTypes, ...secret })
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

    it('deletes with a task what workers stored for it and never recorded', async () => {
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

    it('takes history, deliveries and holds along, and leaves ledger and counters', async () => {
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

    it('goes by the plan of the workspace, and leaves one whose plan is not configured', async () => {
      const { db } = database
      const configured = parsePlans({ short: { retentionDays: 7 } })
      const [short, unknown] = [await givenWorkspace(db), await givenWorkspace(db)]
      const [gone, kept] = [await givenSucceeded(short), await givenSucceeded(unknown)]
      await db.updateTable('workspace').set({ plan: 'short' }).where('id', '=', short.id).execute()
      await db.updateTable('workspace').set({ plan: 'forgotten' }).where('id', '=', unknown.id).execute()
      await sweepRetention({ ...common, db, plans: configured, bucket: undefined }, { now: inDays(7.1) })
      expect([await exists('task', gone.id), await exists('task', kept.id)]).toEqual([false, true])
    })

    it('never touches a task that has not ended, however old', async () => {
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

    it('keeps an object that serves several tasks until the last of them is gone', async () => {
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

    it('gives an upload up that no task has used for 24 hours, and its object at once', async () => {
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

    it('does the same work once, however often and by however many it is done', async () => {
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

    it('is announced to endpoints once a day, and the next day what went after that', async () => {
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

    it('announces to a workspace although others wait whose plans are not configured', async () => {
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

    it('deletes deliveries that belong to no task after the same days', async () => {
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

    describe('a crash', () => {
      it('between row and object repeats the object', async () => {
        const { db } = database
        const bucket = memoryBucket()
        const task = await givenSucceeded(await givenWorkspace(db), bucket)
        await deleteOldTasks(db, plans, { now: inDays(31) })
        // Whoever deleted the row dies here; another one, later, knows of the objects.
        expect(await deleteDueObjects(db, bucket, { now: inDays(40) })).toBeGreaterThanOrEqual(2)
        expect([await has(bucket, task.source_key), await has(bucket, task.result_key ?? '')]).toEqual([false, false])
      })

      it('after taking an object, or after deleting it, leaves it due again', async () => {
        const { db } = database
        const bucket = memoryBucket()
        const task = await givenSucceeded(await givenWorkspace(db), bucket)
        await deleteOldTasks(db, plans, { now: inDays(31) })
        const taken = await takeDueObjects(db, { now: inDays(40) })
        expect(taken).toContain(task.source_key)
        await bucket.delete(task.source_key)
        expect(await takeDueObjects(db, { now: inDays(40) })).toEqual([])
        const later = new Date(inDays(40).getTime() + 11 * 60_000)
        await deleteDueObjects(db, bucket, { now: later })
        expect([await has(bucket, task.source_key), await has(bucket, task.result_key ?? '')]).toEqual([false, false])
        expect(await linesOf([task.source_key, task.result_key])).toEqual([])
      })

      it('inside the deletion of rows leaves rows and lines as they were', async () => {
        const { db } = database
        const workspace = await givenWorkspace(db)
        const task = await givenSucceeded(workspace)
        // An upload that cannot be released ends the transaction in its middle, as a lost connection would.
        const { objectKey } = await givenUpload(db, workspace.id)
        await db
          .insertInto('object_deletion')
          .values({ object_key: objectKey, due_at: inDays(1) })
          .execute()
        const broken = db.withPlugin({
          transformQuery: ({ node }) => {
            if (JSON.stringify(node).includes('retention_notice')) throw new Error('connection lost')
            return node
          },
          transformResult: async ({ result }) => result,
        })
        await expect(deleteOldTasks(broken, plans, { now: inDays(31) })).rejects.toThrow('connection lost')
        expect(await exists('task', task.id)).toBe(true)
        expect(await linesOf([task.source_key, task.result_key])).toEqual([])
        await sweep(31)
        expect(await exists('task', task.id)).toBe(false)
      })

      it('of the store stops objects and nothing else, and forgets what was deleted', async () => {
        const { db } = database
        const bucket = memoryBucket()
        const workspace = await givenWorkspace(db)
        const [one, two] = [await givenSucceeded(workspace, bucket), await givenSucceeded(workspace, bucket)]
        await sweep(31, bucket)
        const halfDown = {
          list: bucket.list,
          delete: (key: string) =>
            key === one.source_key ? Promise.reject(new StorageError('unavailable', 'store down')) : bucket.delete(key),
        }
        await expect(sweep(40, halfDown)).rejects.toThrow('store down')
        expect(await linesOf([one.source_key])).toHaveLength(1)
        expect(await linesOf([two.source_key])).toHaveLength(0)
        await sweep(41, bucket)
        expect(await has(bucket, one.source_key)).toBe(false)
      })

      it('forgets an upload only once it was given up', async () => {
        const { db } = database
        const { objectKey } = await givenUpload(db, (await givenWorkspace(db)).id)
        await forgetObjects(db, [objectKey])
        expect(await db.selectFrom('upload').select('id').where('object_key', '=', objectKey).execute()).toHaveLength(1)
      })
    })

    describe('a creation that races the sweep on its upload', () => {
      const rounds = 30
      const settle = (creating: Promise<TaskRow>) =>
        creating.catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'TASK_INPUT_FORBIDDEN' })
          return undefined
        })

      it('has its object, or is refused: an upload that nobody had used', async () => {
        const { db } = database
        const workspace = await givenWorkspace(db)
        const sweeperDb = connectTo(database.url, 2)
        const born: TaskRow[] = []
        for (let round = 0; round < rounds; round++) {
          const bucket = memoryBucket()
          const { objectKey } = await givenUpload(db, workspace.id, bucket)
          const sweepOne = async () => {
            await releaseUnusedUploads(sweeperDb.db, { now: inDays(2) })
            await deleteDueObjects(sweeperDb.db, bucket, { now: inDays(2) })
          }
          const [task] = await Promise.all([settle(create(workspace, bucket, objectKey)), sweepOne()])
          if (task) expect(await has(bucket, objectKey)).toBe(true)
          if (task) born.push(task)
        }
        await sweeperDb.stop()
        expect(await findTasksWithoutUpload(born)).toEqual([])
      })

      it('has its object, or is refused: an upload whose last task is being deleted', async () => {
        const { db } = database
        const workspace = await givenWorkspace(db)
        const sweeperDb = connectTo(database.url, 2)
        const born: TaskRow[] = []
        for (let round = 0; round < rounds; round++) {
          const bucket = memoryBucket()
          const { source_key: objectKey } = await givenSucceeded(workspace, bucket)
          const sweepOne = async () => {
            await deleteOldTasks(sweeperDb.db, plans, { now: inDays(31) })
            await deleteDueObjects(sweeperDb.db, bucket, { now: inDays(40) })
          }
          const [task] = await Promise.all([settle(create(workspace, bucket, objectKey)), sweepOne()])
          if (task) expect(await has(bucket, objectKey)).toBe(true)
          if (task) born.push(task)
        }
        await sweeperDb.stop()
        expect(await findTasksWithoutUpload(born)).toEqual([])
      })

      it.each(['internal', 'free'])(
        'is refused when the sweep came first, and takes no slot: plan %s',
        async (plan) => {
          const { db } = database
          const workspace = await givenWorkspace(db, { plan, credits: 10 })
          const { objectKey, bucket } = await givenUpload(db, workspace.id)
          // After the upload was found and before the task is inserted: the sweep gives it up here.
          const head: Bucket['head'] = async (...asked) => {
            await db.updateTable('upload').set({ deleted_at: sql`now()` }).where('object_key', '=', objectKey).execute()
            return bucket.head(...asked)
          }
          await expect(create(workspace, { ...bucket, head }, objectKey)).rejects.toMatchObject({
            code: 'TASK_INPUT_FORBIDDEN',
          })
          const counters = db.selectFrom('workspace').select(['open_singles', 'queued', 'quota_used'])
          const left = await counters.where('id', '=', workspace.id).executeTakeFirstOrThrow()
          expect(left).toEqual({ open_singles: 0, queued: 0, quota_used: 0 })
        },
      )

      /** A creation that holds its locks while the sweep comes: the interleaving that a snapshot would miss. */
      it('wins when it came first and commits while the sweep waits', async () => {
        const { db } = database
        // A plan that is charged: the task and its hold of credit are two statements of one transaction.
        const workspace = await givenWorkspace(db, { plan: 'free', credits: 10 })
        const bucket = memoryBucket()
        const old = await givenSucceeded(workspace, bucket)
        const sweeperDb = connectTo(database.url, 2)
        let sweeping: Promise<number> | undefined
        const slow = db.withPlugin({
          // Asked after the task was inserted and before the commit: the sweep starts here.
          transformQuery: ({ node }) => node,
          transformResult: async ({ result }) => {
            const [row] = result.rows as { source_key?: string; status?: string }[]
            if (row?.status === 'queued' && sweeping === undefined) {
              sweeping = deleteOldTasks(sweeperDb.db, plans, { now: inDays(31) })
              await untilWaiting(sweeperDb.db)
            }
            return result
          },
        })
        const task = await createTask(slow, bucket, {
          workspaceId: workspace.id,
          plan: workspace.plan,
          imageUrl: old.source_key,
          modelVersion: ownModel(),
          callbackUrl: null,
          traceparent: null,
        })
        expect(await sweeping).toBe(1)
        await deleteDueObjects(sweeperDb.db, bucket, { now: inDays(40) })
        await sweeperDb.stop()
        expect(await findTasksWithoutUpload([task])).toEqual([])
        expect([await has(bucket, task.source_key), await exists('task', old.id)]).toEqual([true, false])
      })

      async function findTasksWithoutUpload(tasks: readonly TaskRow[]) {
        if (tasks.length === 0) return []
        return await database.db
          .selectFrom('task')
          .innerJoin('upload', 'upload.id', 'task.upload_id')
          .select('task.id')
          .where(
            'task.id',
            'in',
            tasks.map((task) => task.id),
          )
          .where('upload.deleted_at', 'is not', null)
          .execute()
      }
    })
  })
}
