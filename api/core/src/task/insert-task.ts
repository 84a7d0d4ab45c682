import { sql } from 'kysely'
import { type Db, isNullViolation } from '../db/database.ts'
import type { Output } from '../db/tables/task.ts'
import { type ReachedLimit, singleSlot } from '../workspace/limit/single-slot.ts'
import type { Plan } from '../workspace/plan.ts'
import type { TaskRow } from './task-queries.ts'

export type NewTask = {
  readonly workspaceId: string
  readonly uploadId: string
  readonly sourceKey: string
  readonly sourceEtag: string
  readonly sourceSizeBytes: number
  readonly modelVersion: string
  readonly callbackUrl: string | null
  readonly output: Output | null
  readonly creditCost: number
  readonly createdBy: string | null
  readonly traceparent: string | null
  /** Made in the App: whoever made it is told of its end. */
  readonly notifyMaker?: boolean | undefined
}

export type Insertion =
  | { readonly kind: 'created'; readonly task: TaskRow }
  /** A limit of the workspace: which, once `findReachedLimit` was asked. */
  | { readonly kind: 'limit-reached'; readonly reached?: ReachedLimit }
  /** The upload was given up meanwhile. */
  | { readonly kind: 'upload-gone' }

/**
 * A single task with its concurrency slot, its `queued` event, the day's counter and `used_at` of its upload, in one
 * statement. The workspace's row is locked first, since all the rest reads what its update returned (D39); locking the
 * upload's row keeps the sweeper and a creation apart (D24). All of it or nothing: without an upload the task's own
 * column refuses, and with it the slot. So it needs no transaction around it, and one that it is in has failed where it
 * says `upload-gone`.
 */
export async function insertSingle(tx: Db, plan: Plan, task: NewTask): Promise<Insertion> {
  const insert = sql<TaskRow>`
    with slot as (
      ${singleSlot(task.workspaceId, plan)}
    ), source as (
      update upload set used_at = coalesce(used_at, now())
       where id = ${task.uploadId} and workspace_id = (select id from slot) and deleted_at is null
      returning id as upload_id
    ), created as (
      insert into task (workspace_id, upload_id, source_key, source_etag, source_size_bytes, model_version,
                        callback_url, output, credit_cost, created_by, traceparent, notify_maker)
      select slot.id, upload_id, ${task.sourceKey}, ${task.sourceEtag}, ${task.sourceSizeBytes}::bigint,
             ${task.modelVersion}, ${task.callbackUrl}::text, ${task.output && JSON.stringify(task.output)}::jsonb,
             ${task.creditCost}::int, ${task.createdBy}::uuid, ${task.traceparent}::text,
             ${task.notifyMaker ?? false}::boolean
        from slot left join source on true
      returning *
    ), event as (
      insert into task_event (task_id, workspace_id, run, type, payload)
      select id, workspace_id, run, 'queued', jsonb_build_object('run', run) from created
    ), usage as (
      insert into usage_day as u (workspace_id, day, created)
      select workspace_id, (now() at time zone 'utc')::date, 1 from created
      on conflict (workspace_id, day) do update set created = u.created + 1
    )
    select * from created`
  try {
    const { rows } = await insert.execute(tx)
    return rows[0] === undefined ? { kind: 'limit-reached' } : { kind: 'created', task: rows[0] }
  } catch (error) {
    if (isNullViolation(error, 'upload_id')) return { kind: 'upload-gone' }
    throw error
  }
}
