import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { maxRetries } from './limits.ts'
import type { TaskRow } from './task-queries.ts'

type Requeue = { readonly etag: string; readonly sizeBytes: number; readonly traceparent: string | null }

/**
 * Begins the next run of a failed task, with its `retried` event and `used_at` of its upload, in one statement; what
 * the failed run left is cleared (D33). The caller holds the workspace's row (A83). Undefined: the task is not failed
 * in that run any more, or its upload was given up; locking the upload's row keeps the sweeper and a retry apart (D24).
 */
export async function requeueTask(
  tx: Db,
  { id, run, upload_id }: TaskRow,
  { etag, sizeBytes, traceparent }: Requeue,
): Promise<TaskRow | undefined> {
  const { rows } = await sql<TaskRow>`
    with source as (
      update upload set used_at = coalesce(used_at, now()) where id = ${upload_id} and deleted_at is null returning id
    ), queued as (
      update task
         set status = 'queued', run = run + 1, retry_count = retry_count + 1, source_etag = ${etag},
             source_size_bytes = ${sizeBytes}::bigint, traceparent = ${traceparent}::text, attempt = 0,
             queued_at = now(), due_at = now(), started_at = null, completed_at = null, failure_reason = null,
             failure_message = null, dead_letter = null, width = null, height = null
       where id = ${id} and run = ${run} and status = 'failed' and retry_count < ${maxRetries}
         and exists (select from source)
      returning *
    ), event as (
      insert into task_event (task_id, workspace_id, run, type, payload)
      select id, workspace_id, run, 'retried', jsonb_build_object('run', run) from queued
    )
    select * from queued`.execute(tx)
  return rows[0]
}
