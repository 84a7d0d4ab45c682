// Order of a workspace's history (A83). Readers continue after the last id they have seen, so no event may become
// visible after one with a larger id. Every writer therefore locks the workspace's row before it draws an id.
import { cancelBatch } from '@matte/core/batch/cancel-batch'
import type { Db } from '@matte/core/db/database'
import { eventTypes } from '@matte/core/task/list-task-events'
import { readChanges, readLastEventId } from '@matte/core/task/read-changes'
import { retryTask } from '@matte/core/task/retry-task'
import { cancelTask } from '@matte/core/task/run/cancel-task'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { handOverDeadLetters } from '@matte/core/task/run/hand-over-dead-letters'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import { lockWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import {
  claimNext,
  givenBatch,
  givenClaimed,
  givenTask,
  givenWorkspace,
  onePixelPng,
  ownModel,
  readTask,
  success,
  type TestWorkspace,
} from '../support/factories.ts'
import { memoryBucket } from '../support/memory-bucket.ts'
import { until } from '../support/until.ts'

const database = useDatabase()

/** Prepares the data, and returns the functions that write events of these types. */
type Writer = (db: Db, workspace: TestWorkspace) => Promise<() => Promise<unknown>>

const exhausted = async (db: Db, workspace: TestWorkspace) => {
  const claimed = await givenClaimed(db, workspace)
  return { ...claimed, attempt: 5 }
}
const failed = async (db: Db, workspace: TestWorkspace) => {
  const claimed = await exhausted(db, workspace)
  await failAttempt(db, claimed, 'INTERNAL')
  return readTask(db, claimed.id)
}

const writers: readonly (readonly [what: string, types: readonly string[], writer: Writer])[] = [
  ['a creation', ['queued'], async (db, workspace) => () => givenTask(db, workspace)],
  ['a batch', ['queued', 'queued'], async (db, workspace) => () => givenBatch(db, workspace)],
  [
    'a claim',
    ['processing'],
    async (db, workspace) => {
      const model = ownModel()
      await givenTask(db, workspace, { model })
      return () => claimNext(db, [model])
    },
  ],
  [
    'an attempt that failed',
    ['attempt_failed'],
    async (db, workspace) => {
      const claimed = await givenClaimed(db, workspace)
      return () => failAttempt(db, claimed, 'STORAGE_ERROR')
    },
  ],
  [
    'the last attempt that failed',
    ['failed', 'dead_letter'],
    async (db, workspace) => {
      const claimed = await exhausted(db, workspace)
      return () => failAttempt(db, claimed, 'STORAGE_ERROR')
    },
  ],
  [
    'a success',
    ['succeeded'],
    async (db, workspace) => {
      const claimed = await givenClaimed(db, workspace)
      return () => finishTask(db, claimed, success(claimed))
    },
  ],
  [
    'the success of a child',
    ['succeeded'],
    async (db, workspace) => {
      const claimed = await givenClaimed(db, workspace, { child: true })
      return () => finishTask(db, claimed, success(claimed))
    },
  ],
  [
    'a cancel',
    ['canceled'],
    async (db, workspace) => {
      const { id } = await givenTask(db, workspace)
      return () => cancelTask(db, workspace.id, id)
    },
  ],
  [
    'the cancel of a batch',
    ['canceled', 'canceled'],
    async (db, workspace) => {
      const { batch } = await givenBatch(db, workspace)
      return () => cancelBatch(db, workspace.id, batch.id)
    },
  ],
  [
    'a sweep',
    ['failed'],
    async (db, workspace) => {
      await givenTask(db, workspace, { ageMs: 3_600_000 })
      return () => sweepTasks(db, { maxQueueAgeMs: 60_000 })
    },
  ],
  [
    'a retry',
    ['retried'],
    async (db, workspace) => {
      const { id, source_key: key } = await failed(db, workspace)
      const bucket = memoryBucket()
      await bucket.put(key, onePixelPng, { contentType: 'image/png' })
      return () => retryTask(db, bucket, { workspaceId: workspace.id, plan: workspace.plan, id, traceparent: null })
    },
  ],
  [
    'the hand-over of a dead letter',
    ['dead_lettered'],
    async (db, workspace) => {
      await sql`update task set dead_letter = 'done' where dead_letter = 'due'`.execute(db) // of other tests
      await failed(db, workspace)
      return () => handOverDeadLetters(db, async () => undefined)
    },
  ],
]

async function lastDrawnId(db: Db): Promise<number> {
  const { rows } = await sql<{ id: number }>`select last_value as id from task_event_id_seq`.execute(db)
  return rows[0]?.id ?? 0
}

async function waitForLocks(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows[0]?.count ?? 0
}

describe('every writer of history', () => {
  it.each(writers)('%s draws no id before it holds the workspace’s lock', async (_what, types, prepare) => {
    const { db } = database
    const workspace = await givenWorkspace(db)
    const write = await prepare(db, workspace)
    const before = await readLastEventId(db, workspace.id)
    const writing = await db.transaction().execute(async (tx) => {
      await lockWorkspace(tx, workspace.id)
      const drawn = await lastDrawnId(db)
      const written = write()
      await until('it waits for the row', async () => (await waitForLocks(db)) > 0)
      expect(await lastDrawnId(db)).toBe(drawn)
      return { written }
    })
    await writing.written
    const [changes = []] = await readChanges(db, [{ workspaceId: workspace.id, after: before }], 100)
    expect(changes.map(({ type }) => type)).toEqual(types)
  })

  it('has the larger id', () => {
    expect([...new Set(writers.flatMap(([, types]) => types))].sort()).toEqual([...eventTypes].sort())
  })
})

it('of the previous version gives no workspace, but the event has it', async () => {
  const { db } = database
  const workspace = await givenWorkspace(db)
  const task = await givenTask(db, workspace)
  const { rows } = await sql<{ id: string }>`
    with created as (
      insert into task (workspace_id, upload_id, source_key, source_etag, source_size_bytes, model_version, credit_cost)
      select workspace_id, upload_id, source_key, source_etag, source_size_bytes, model_version, credit_cost
        from task where id = ${task.id}
      returning *
    ), event as (
      insert into task_event (task_id, run, type, payload) select id, run, 'queued', '{"run": 1}' from created
    )
    select id from created`.execute(db)
  const [changes = []] = await readChanges(db, [{ workspaceId: workspace.id, after: 0 }], 100)
  expect(changes.map(({ taskId }) => taskId)).toEqual([task.id, rows[0]?.id])
})
