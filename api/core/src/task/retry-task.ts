import { sql } from 'kysely'
import type { Audit } from '../audit/record-change.ts'
import { holdCredits } from '../credit/hold.ts'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { AlreadyCreated, createOnce, findOutcome, type OnceRequest } from '../idempotency/create-once.ts'
import { findUpload } from '../upload/grant-queries.ts'
import { type Inspected, inputForbidden, inspectObject } from '../upload/inspect-object.ts'
import { cancelTaskDeliveries } from '../webhook/delivery-queries.ts'
import { takeSingleSlot, toLimitError } from '../workspace/limit/single-slot.ts'
import type { Plan } from '../workspace/plan.ts'
import { reopenFailedChild } from './batch-progress.ts'
import { creditCost, maxRetries } from './limits.ts'
import { findTask, type TaskRow, taskNotFound } from './task-queries.ts'

type RetryTask = {
  readonly workspaceId: string
  readonly plan: Plan
  readonly id: string
  readonly once?: OnceRequest | undefined
  readonly traceparent: string | null
  readonly audit?: Audit
}

/**
 * Retries a failed task (D33): queues it in a new run with the object as it is now. It takes a slot, quota and a credit
 * like a new single task, also for a child of a batch. Undelivered webhooks of the earlier failure are canceled.
 * @throws MatteError TASK_NOT_FOUND, TASK_NOT_RETRYABLE, TASK_RETRY_LIMIT_EXCEEDED, TASK_INPUT_FORBIDDEN,
 *   TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED, TASK_STORAGE_UNAVAILABLE, TASK_CONCURRENT_LIMIT,
 *   QUOTA_EXCEEDED, CREDITS_INSUFFICIENT, CONFLICT; AlreadyCreated
 */
export async function retryTask(db: Db, bucket: Inspected, request: RetryTask): Promise<TaskRow> {
  const { workspaceId, plan, id } = request
  const failed = await findRetryable(db, workspaceId, id).catch(async (error: unknown) => {
    // A concurrent duplicate of this request may have committed the retry.
    const outcome = request.once && (await findOutcome(db, request.once))
    throw outcome === undefined ? error : new AlreadyCreated(outcome)
  })
  const upload = await findUpload(db, workspaceId, failed.source_key)
  if (upload === undefined) throw inputForbidden()
  const object = await inspectObject(bucket, upload.objectKey, plan)
  return createOnce(db, request.once, async (tx) => {
    const slot = await takeSingleSlot(tx, workspaceId, plan)
    if (slot.kind === 'refused') {
      await findRetryable(tx, workspaceId, id) // a concurrent retry of this task may have taken the slot
      throw toLimitError(plan, slot.reached)
    }
    const reopened = failed.batch_id === null || (await reopenFailedChild(tx, failed.batch_id))
    const task = reopened && (await requeueTask(tx, failed, { ...object, traceparent: request.traceparent }))
    if (!task) {
      const { run } = await findRetryable(tx, workspaceId, id)
      if (run === failed.run) throw inputForbidden() // its upload was deleted during the inspection
      throw new MatteError('CONFLICT', 'The task was retried and has failed again meanwhile. Read it, then retry.')
    }
    const { run, created_by: userId } = task
    if (plan.charged) await holdCredits(tx, { workspaceId, userId, taskId: id, run, amount: creditCost })
    await cancelTaskDeliveries(tx, { taskId: id, event: 'task.failed', beforeRun: task.run })
    await request.audit?.(tx)
    return task
  })
}

/** @throws MatteError TASK_NOT_FOUND, TASK_NOT_RETRYABLE, TASK_RETRY_LIMIT_EXCEEDED */
async function findRetryable(db: Db, workspaceId: string, id: string): Promise<TaskRow> {
  const task = await findTask(db, workspaceId, id)
  if (task === undefined) throw taskNotFound()
  const { status, retry_count: retryCount } = task
  if (status !== 'failed') {
    throw new MatteError('TASK_NOT_RETRYABLE', `Only a failed task can be retried; this one is ${status}.`, {
      details: { status },
    })
  }
  if (task.erased_at !== null) {
    throw new MatteError('TASK_NOT_RETRYABLE', 'The images of this task were erased; create a new task.', {
      details: { status },
    })
  }
  if (retryCount >= maxRetries) {
    throw new MatteError('TASK_RETRY_LIMIT_EXCEEDED', `A task can be retried ${maxRetries} times; create a new one.`, {
      details: { limit: maxRetries, retryCount },
    })
  }
  return task
}

type Requeue = { readonly etag: string; readonly sizeBytes: number; readonly traceparent: string | null }

/**
 * Starts the next run of a failed task with its `retried` event and `used_at` of its upload, in one statement, and
 * clears the results of the failed run. The caller holds the lock of the workspace. Undefined: the task is no
 * longer failed in that run, or its upload was deleted.
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
