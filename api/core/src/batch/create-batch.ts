import { sql } from 'kysely'
import type { Audit } from '../audit/record-change.ts'
import { holdCreditsEach } from '../credit/hold-batch.ts'
import type { Db } from '../db/database.ts'
import type { Output } from '../db/tables/task.ts'
import { MatteError } from '../error.ts'
import { createOnce, type OnceRequest } from '../idempotency/create-once.ts'
import { orderedId } from '../ordered-id.ts'
import type { Gate } from '../runtime/concurrency/fair-gate.ts'
import { creditCost } from '../task/limits.ts'
import { type RequestedOutput, resolveOutput } from '../task/output.ts'
import type { TaskRow } from '../task/task-queries.ts'
import { type Inspected, inputForbidden } from '../upload/inspect-object.ts'
import { usageParts } from '../usage/count-usage.ts'
import { takeChildSlots, toChildLimitError } from '../workspace/limit/child-slots.ts'
import type { Plan } from '../workspace/plan.ts'
import type { BatchRow, BatchWithTasks } from './batch-queries.ts'
import { inspectSources, itemsRefused, type Source } from './inspect-sources.ts'

type CreateBatch = {
  readonly workspaceId: string
  readonly plan: Plan
  /** Object keys of grants, at least one, repeats allowed; unchecked text. */
  readonly imageUrls: readonly string[]
  /** A served model; the caller has checked it. */
  readonly modelVersion: string
  /** Checked by `checkTargetUrl`. */
  readonly callbackUrl: string | null
  /** For every child; checked here against the plan. Null: defaults. */
  readonly output?: RequestedOutput | null
  readonly once?: OnceRequest | undefined
  /** The creating member; null: unknown. */
  readonly createdBy?: string | null | undefined
  /** The creating key; undefined: a member. */
  readonly apiKeyId?: string | undefined
  readonly traceparent: string | null
  /** Created in the App: the creator is notified when the batch ends. */
  readonly notifyMaker?: boolean
  readonly gate: Gate
  /** Seconds for every child; checked by `findRetentionIssue`. */
  readonly retention?: number | null
  /** Undefined: the rows alone are the record of their creation. */
  readonly audit?: Audit | undefined
}

/** Why the plan rejects a batch of this size; checked before objects are inspected (D4). */
export function findBatchRefusal({ batchLimit }: Plan, size: number): MatteError | undefined {
  if (batchLimit === 0) {
    return new MatteError('TASK_BATCH_NOT_SUPPORTED', 'Your plan does not support batches. Create single tasks.')
  }
  if (size <= batchLimit) return undefined
  return new MatteError('TASK_BATCH_SIZE_EXCEEDED', `Your plan allows at most ${batchLimit} images in a batch.`, {
    details: { limit: batchLimit, size },
  })
}

/**
 * Accepts a batch, all or nothing (D50): inspects every object, then takes slots, quota and credits and inserts all
 * children in one synchronously committed transaction.
 * @throws MatteError as `inspectSources`; TASK_OUTPUT_FORMAT_NOT_SUPPORTED, TASK_CONCURRENT_LIMIT,
 *   QUOTA_EXCEEDED, CREDITS_INSUFFICIENT, CONFLICT; AlreadyCreated
 */
export async function createBatch(db: Db, bucket: Inspected, request: CreateBatch): Promise<BatchWithTasks<TaskRow>> {
  const { workspaceId, plan, once } = request
  const sources = await inspectSources(db, bucket, request)
  const output = resolveOutput(request.output ?? null, plan)
  const { modelVersion, callbackUrl, createdBy = null, apiKeyId, traceparent, notifyMaker } = request
  const maker = { createdBy, apiKeyId, notifyMaker, retentionSeconds: request.retention }
  const wanted = { workspaceId, modelVersion, callbackUrl, output, creditCost, traceparent, ...maker }
  return createOnce(db, once, async (tx) => {
    const slots = await takeChildSlots(tx, { workspaceId, plan, size: sources.length })
    if (slots.kind === 'refused') throw toChildLimitError({ plan, size: sources.length }, slots.reached)
    const batch = await insertBatch(tx, wanted, sources.length)
    const tasks = await insertChildren(tx, { ...wanted, batchId: batch.id }, sources)
    if (tasks.length < sources.length) throw uploadsDeleted(sources, new Set(tasks.map((task) => task.source_key)))
    const runs = tasks.map((task) => ({ taskId: task.id, run: task.run }))
    if (plan.charged) await holdCreditsEach(tx, { workspaceId, userId: createdBy, runs, amount: creditCost })
    await request.audit?.(tx, batch.id)
    return { id: batch.id, batch, tasks }
  })
}

function uploadsDeleted(sources: readonly Source[], live: ReadonlySet<string>): MatteError {
  const errors = sources.flatMap(({ objectKey }, index) =>
    live.has(objectKey) ? [] : [{ index, imageUrl: objectKey, error: inputForbidden() }],
  )
  return itemsRefused(errors)
}

type NewBatch = {
  readonly workspaceId: string
  readonly modelVersion: string
  readonly callbackUrl: string | null
  readonly output: Output | null
  /** Per child. */
  readonly creditCost: number
  readonly createdBy: string | null
  readonly apiKeyId?: string | undefined
  readonly traceparent: string | null
  readonly notifyMaker?: boolean | undefined
  readonly retentionSeconds?: number | null | undefined
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
      api_key_id: batch.apiKeyId ?? null,
      traceparent: batch.traceparent,
      notify_maker: batch.notifyMaker ?? false,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/**
 * Inserts the children with their `queued` events, usage counter and `used_at` of their uploads in one statement. A
 * source whose upload was deleted meanwhile gets no child, so fewer rows return.
 */
export async function insertChildren(
  tx: Db,
  batch: NewBatch & { readonly batchId: string },
  sources: readonly Source[],
): Promise<TaskRow[]> {
  // Ascending ids keep the order of the request, in the queue and in responses.
  const ids = sources.map(orderedId).sort()
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
                        model_version, callback_url, output, credit_cost, created_by, api_key_id,
                        traceparent, retention_seconds)
      select w.id, ${batch.workspaceId}::uuid, ${batch.batchId}::uuid, w.upload_id, w.source_key, w.source_etag,
             w.source_size_bytes, ${batch.modelVersion}, ${batch.callbackUrl}::text,
             ${batch.output && JSON.stringify(batch.output)}::jsonb, ${batch.creditCost}::int,
             ${batch.createdBy}::uuid, ${batch.apiKeyId ?? null}::uuid, ${batch.traceparent}::text,
             ${batch.retentionSeconds ?? null}::int
        from wanted w join live on live.id = w.upload_id
      returning *
    ), event as (
      insert into task_event (task_id, workspace_id, run, type, payload)
      select id, workspace_id, run, 'queued', jsonb_build_object('run', run) from created order by id
    ), alike as (
      select workspace_id, model_version, created_by, count(*) as created from created group by 1, 2, 3
    ), ${usageParts({ from: sql`alike`, add: { created: sql`created` } })}
    select * from created order by id`.execute(tx)
  return rows
}
