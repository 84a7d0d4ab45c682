import { sql } from 'kysely'
import { holdForCreated, isHoldRefused, mayHold } from '../credit/hold.ts'
import { type Db, isNullViolation } from '../db/database.ts'
import type { DoorWish, Output } from '../db/tables/task.ts'
import { usageParts } from '../usage/count-usage.ts'
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
  readonly door?: DoorWish | null | undefined
  /** A success without a subject is not charged. */
  readonly chargesSubjectsOnly?: boolean | undefined
  readonly creditCost: number
  readonly createdBy: string | null
  readonly apiKeyId?: string | null | undefined
  readonly traceparent: string | null
  /** Created in the App: the creator is notified when the task ends. */
  readonly notifyMaker?: boolean | undefined
  /** Seconds from the end to the deletion; null: the workspace's. */
  readonly retentionSeconds?: number | null | undefined
}

export type Insertion =
  | { readonly kind: 'created'; readonly task: TaskRow }
  /**
   * A limit of the workspace is reached; `findReachedLimit` tells which. With `holds` also if the credits were not
   * held, which `holdCredits` explains.
   */
  | { readonly kind: 'limit-reached'; readonly reached?: ReachedLimit }
  /** The upload was deleted since it was looked up. */
  | { readonly kind: 'upload-gone' }

/**
 * Inserts a single task with its slot, `queued` event, usage counter and `used_at` of its upload in one statement, all
 * or nothing. It locks the workspace first (D39), and the upload, which keeps the retention sweep away (D24). If the
 * upload is gone, the null `upload_id` violates its constraint and rolls all of it back. `holds`: holds its credits,
 * too.
 */
export async function insertSingle(
  tx: Db,
  plan: Plan,
  task: NewTask,
  { holds = false }: { readonly holds?: boolean } = {},
): Promise<Insertion> {
  const { workspaceId, createdBy: userId, creditCost: amount } = task
  const insert = sql<TaskRow>`
    with slot as (
      ${singleSlot(workspaceId, plan, holds ? mayHold({ workspaceId, userId, amount }) : undefined)}
    ), source as (
      update upload set used_at = coalesce(used_at, now())
       where id = ${task.uploadId} and workspace_id = (select id from slot) and deleted_at is null
      returning id as upload_id
    ), created as (
      insert into task (workspace_id, upload_id, source_key, source_etag, source_size_bytes, model_version,
                        callback_url, output, door, charge, credit_cost, created_by, api_key_id, traceparent,
                        notify_maker, retention_seconds)
      select slot.id, upload_id, ${task.sourceKey}, ${task.sourceEtag}, ${task.sourceSizeBytes}::bigint,
             ${task.modelVersion}, ${task.callbackUrl}::text, ${task.output && JSON.stringify(task.output)}::jsonb,
             ${task.door ? JSON.stringify(task.door) : null}::jsonb, ${task.chargesSubjectsOnly ? 'if_subject' : null}::text,
             ${task.creditCost}::int, ${task.createdBy}::uuid, ${task.apiKeyId ?? null}::uuid,
             ${task.traceparent}::text, ${task.notifyMaker ?? false}::boolean,
             ${task.retentionSeconds ?? null}::int
        from slot left join source on true
      returning *
    ), event as (
      insert into task_event (task_id, workspace_id, run, type, payload)
      select id, workspace_id, run, 'queued', jsonb_build_object('run', run) from created
    ), ${usageParts({ from: sql`created`, add: { created: sql`1` } })}
    select created.* from created ${holds ? sql`cross join ${holdForCreated}` : sql``}`
  try {
    const { rows } = await insert.execute(tx)
    return rows[0] === undefined ? { kind: 'limit-reached' } : { kind: 'created', task: rows[0] }
  } catch (error) {
    if (isNullViolation(error, 'upload_id')) return { kind: 'upload-gone' }
    if (isHoldRefused(error)) return { kind: 'limit-reached' }
    throw error
  }
}
