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
import { requeueTask } from './requeue-task.ts'
import { findTask, type TaskRow, taskNotFound } from './task-queries.ts'

type RetryTask = {
  readonly workspaceId: string
  readonly plan: Plan
  readonly id: string
  /** The request's idempotency key, if it has one. */
  readonly once?: OnceRequest | undefined
  readonly traceparent: string | null
}

/**
 * A caller's retry (D33): the same task is queued again in a new run, with the object as it is now. It takes a slot,
 * quota and a credit like a new single task, also as a child of a batch, whose counts follow. What was not delivered
 * yet of an earlier failure is canceled.
 * @throws MatteError TASK_NOT_FOUND, TASK_NOT_RETRYABLE, TASK_RETRY_LIMIT_EXCEEDED, TASK_INPUT_FORBIDDEN,
 *   TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED, TASK_STORAGE_UNAVAILABLE, TASK_CONCURRENT_LIMIT,
 *   QUOTA_EXCEEDED, CREDITS_INSUFFICIENT, CONFLICT; AlreadyCreated
 */
export async function retryTask(db: Db, bucket: Inspected, request: RetryTask): Promise<TaskRow> {
  const { workspaceId, plan, id } = request
  const failed = await findRetryable(db, workspaceId, id).catch(async (error: unknown) => {
    // It may be a twin of this very request that has made the retry, a moment after it was searched for.
    const outcome = request.once && (await findOutcome(db, request.once))
    throw outcome === undefined ? error : new AlreadyCreated(outcome)
  })
  const upload = await findUpload(db, workspaceId, failed.source_key)
  if (upload === undefined) throw inputForbidden()
  const object = await inspectObject(bucket, upload.objectKey, plan)
  return createOnce(db, request.once, async (tx) => {
    const slot = await takeSingleSlot(tx, workspaceId, plan)
    if (slot.kind === 'refused') {
      await findRetryable(tx, workspaceId, id) // another retry may have taken the slot for this very task
      throw toLimitError(plan, slot.reached)
    }
    const reopened = failed.batch_id === null || (await reopenFailedChild(tx, failed.batch_id))
    const task = reopened && (await requeueTask(tx, failed, { ...object, traceparent: request.traceparent }))
    if (!task) {
      const { run } = await findRetryable(tx, workspaceId, id)
      if (run === failed.run) throw inputForbidden() // its upload was given up while it was inspected
      throw new MatteError('CONFLICT', 'The task was retried and has failed again meanwhile; look at it once more.')
    }
    const { run, created_by: userId } = task
    if (plan.charged) await holdCredits(tx, { workspaceId, userId, taskId: id, run, amount: creditCost })
    await cancelTaskDeliveries(tx, { taskId: id, event: 'task.failed', beforeRun: task.run })
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
  if (retryCount >= maxRetries) {
    throw new MatteError('TASK_RETRY_LIMIT_EXCEEDED', `A task can be retried ${maxRetries} times; create a new one.`, {
      details: { limit: maxRetries, retryCount },
    })
  }
  return task
}
