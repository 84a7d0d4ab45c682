import type { Db } from '@matte/core/db/database'
import { deleteDueObjects, forgetObjects, takeDueObjects } from '@matte/core/retention/delete-objects'
import { deleteOldTasks } from '@matte/core/retention/delete-tasks'
import { releaseUnusedUploads } from '@matte/core/retention/release-uploads'
import type { Bucket } from '@matte/core/storage/bucket'
import { StorageError } from '@matte/core/storage/storage-error'
import { createTask } from '@matte/core/task/create-task'
import type { TaskRow } from '@matte/core/task/task-queries'
import { defaultPlans as plans } from '@matte/core/workspace/plan'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../../support/database.ts'
import { givenUpload, givenWorkspace, ownModel } from '../../support/factories.ts'
import { memoryBucket } from '../../support/memory-bucket.ts'
import { until } from '../../support/until.ts'
import { inDays, retentionWorld } from './world.ts'

/** Waits until a connection of this database waits for a lock. */
const untilWaiting = (db: Db) =>
  until('the sweep waits for the creation', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    return rows.length > 0
  })

describe('retention under faults,', () => {
  const database = useDatabase()
  const { sweep, create, givenSucceeded, exists, has, linesOf } = retentionWorld(database)

  describe('a crash', () => {
    it('between row and object repeats the object', async () => {
      const { db } = database
      const bucket = memoryBucket()
      const task = await givenSucceeded(await givenWorkspace(db), bucket)
      await deleteOldTasks(db, plans, { now: inDays(31) })
      // The process that deleted the row dies here; another one finds the objects later.
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

    it('during the deletion of rows leaves rows unchanged', async () => {
      const { db } = database
      const workspace = await givenWorkspace(db)
      const task = await givenSucceeded(workspace)
      // An upload that cannot be released aborts the transaction in the middle, like a lost connection.
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

    it('of the store stops objects only, and deleted ones stay deleted', async () => {
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

    it('forgets an upload only after its release', async () => {
      const { db } = database
      const { objectKey } = await givenUpload(db, (await givenWorkspace(db)).id)
      await forgetObjects(db, [objectKey])
      expect(await db.selectFrom('upload').select('id').where('object_key', '=', objectKey).execute()).toHaveLength(1)
    })
  })

  describe('a creation that races with the sweep for its upload', () => {
    const rounds = 30
    const settle = (creating: Promise<TaskRow>) =>
      creating.catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'TASK_INPUT_FORBIDDEN' })
        return undefined
      })

    it('keeps its object or is rejected: an unused upload', async () => {
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

    it('keeps its object or is rejected: an upload whose last task is being deleted', async () => {
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

    it.each(['internal', 'free'])('is rejected if the sweep was first, and takes no slot: plan %s', async (plan) => {
      const { db } = database
      const workspace = await givenWorkspace(db, { plan, credits: 10 })
      const { objectKey, bucket } = await givenUpload(db, workspace.id)
      // Between the lookup of the upload and the insert of the task, the sweep releases the upload.
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
    })

    /** A creation that holds its locks while the sweep runs: the interleaving that a snapshot would miss. */
    it('wins if it was first and commits while the sweep waits', async () => {
      const { db } = database
      const workspace = await givenWorkspace(db, { plan: 'free', credits: 10 })
      const bucket = memoryBucket()
      const old = await givenSucceeded(workspace, bucket)
      const sweeperDb = connectTo(database.url, 2)
      let sweeping: Promise<number> | undefined
      const slow = db.withPlugin({
        // Called after the insert of the task and before the commit: starts the sweep.
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
        // With an idempotency key, the insert of the task and the record of its outcome are one transaction.
        once: {
          owner: { workspaceId: workspace.id },
          ...{ method: 'POST', path: '/tasks', key: 'first', bodyHash: Buffer.alloc(32), status: 201 },
        },
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
