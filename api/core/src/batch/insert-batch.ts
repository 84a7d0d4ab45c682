import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Output } from '../db/tables/task.ts'
import type { TaskRow } from '../task/task-queries.ts'
import type { BatchRow } from './batch-queries.ts'
import type { Source } from './inspect-sources.ts'

type NewBatch = {
  readonly workspaceId: string
  readonly modelVersion: string
  readonly callbackUrl: string | null
  readonly output: Output | null
  /** Of each child. */
  readonly creditCost: number
  readonly createdBy: string | null
  readonly traceparent: string | null
  readonly notifyMaker?: boolean | undefined
}

export function insertBatch(tx: Db, batch: NewBatch, totalCount: number): Promise<BatchRow> {
  return tx
    .insertInto('batch')
    .values({
      workspace_id: batch.workspaceId,
      total_count: totalCount,
      model_version: batch.modelVersion,
      callback_url: batch.callbackUrl,
      created_by: batch.createdBy,
      traceparent: batch.traceparent,
      notify_maker: batch.notifyMaker ?? false,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/**
 * The children, their `queued` events, the day's counter and `used_at` of their uploads, in one statement; in the
 * order of `sources`. A source whose upload was given up meanwhile has no child: fewer rows come back.
 */
export async function insertChildren(
  tx: Db,
  batch: NewBatch & { readonly batchId: string },
  sources: readonly Source[],
): Promise<TaskRow[]> {
  // Ids that ascend in the order of the request give the children their order, in the queue (its last key) and in
  // answers, without a column for it.
  const ids = sources.map(() => randomUUID()).sort()
  const { rows } = await sql<TaskRow>`
    with wanted as (
      select * from unnest(${ids}::uuid[], ${sources.map((source) => source.uploadId)}::uuid[],
                           ${sources.map((source) => source.objectKey)}::text[],
                           ${sources.map((source) => source.etag)}::text[],
                           ${sources.map((source) => source.sizeBytes)}::bigint[])
        as w (id, upload_id, source_key, source_etag, source_size_bytes)
    ), live as (
      update upload set used_at = coalesce(used_at, now())
       where id in (select upload_id from wanted) and workspace_id = ${batch.workspaceId} and deleted_at is null
      returning id
    ), created as (
      insert into task (id, workspace_id, batch_id, upload_id, source_key, source_etag, source_size_bytes,
                        model_version, callback_url, output, credit_cost, created_by, traceparent)
      select w.id, ${batch.workspaceId}::uuid, ${batch.batchId}::uuid, w.upload_id, w.source_key, w.source_etag,
             w.source_size_bytes, ${batch.modelVersion}, ${batch.callbackUrl}::text,
             ${batch.output && JSON.stringify(batch.output)}::jsonb, ${batch.creditCost}::int,
             ${batch.createdBy}::uuid, ${batch.traceparent}::text
        from wanted w join live on live.id = w.upload_id
      returning *
    ), event as (
      insert into task_event (task_id, workspace_id, run, type, payload)
      select id, workspace_id, run, 'queued', jsonb_build_object('run', run) from created order by id
    ), usage as (
      insert into usage_day as u (workspace_id, day, created)
      select ${batch.workspaceId}::uuid, (now() at time zone 'utc')::date, count(*) from created
      on conflict (workspace_id, day) do update set created = u.created + excluded.created
    )
    select * from created order by id`.execute(tx)
  return rows
}
