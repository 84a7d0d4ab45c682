import { holdCredits } from '../credit/hold.ts'
import type { Db } from '../db/database.ts'
import { type Details, MatteError } from '../error.ts'
import { createOnce, type OnceRequest } from '../idempotency/create-once.ts'
import type { Bucket } from '../storage/bucket.ts'
import { findUpload } from '../upload/grant-queries.ts'
import { inputForbidden, inspectObject } from '../upload/inspect-object.ts'
import type { Plan } from '../workspace/plan.ts'
import { findExhaustedLimit } from '../workspace/workspace-queries.ts'
import { type RequestedOutput, resolveOutput } from './output.ts'
import { creditCost } from './task.ts'
import { insertSingle, type TaskRow } from './task-queries.ts'

export type CreateTask = {
  readonly workspaceId: string
  readonly plan: Plan
  /** The object key of a grant; any text (D22). */
  readonly imageUrl: string
  /** Valid already: the caller knows the list of models. */
  readonly modelVersion: string
  /** Vetted already by `checkTargetUrl`. */
  readonly callbackUrl: string | null
  /** Judged here against the plan; null: nothing asked for. */
  readonly output?: RequestedOutput | null
  /** The request's idempotency key, if it has one. */
  readonly once?: OnceRequest | undefined
  readonly traceparent: string | null
}

/**
 * Accepts a task: looks at the object, then takes a concurrency slot, quota and credit, and writes the row, in one transaction
 * that commits synchronously before this returns. The checks come in the order of D4.
 * @throws MatteError TASK_INPUT_FORBIDDEN, TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED,
 *   TASK_STORAGE_UNAVAILABLE, TASK_OUTPUT_FORMAT_NOT_SUPPORTED, TASK_CONCURRENT_LIMIT, DEVELOPER_API_QUOTA_EXCEEDED,
 *   CREDITS_INSUFFICIENT, CONFLICT; AlreadyCreated
 */
export async function createTask(db: Db, bucket: Bucket, request: CreateTask): Promise<TaskRow> {
  const { workspaceId, plan, imageUrl } = request
  const upload = await findUpload(db, workspaceId, imageUrl)
  if (upload === undefined) throw inputForbidden()
  const { etag, sizeBytes } = await inspectObject(bucket, upload.objectKey, plan)
  const output = resolveOutput(request.output ?? null, plan)
  const wanted = {
    workspaceId,
    uploadId: upload.id,
    sourceKey: upload.objectKey,
    sourceEtag: etag,
    sourceSizeBytes: sizeBytes,
    modelVersion: request.modelVersion,
    callbackUrl: request.callbackUrl,
    output,
    creditCost,
    traceparent: request.traceparent,
  }
  // Where nothing else belongs to it, the one statement is the transaction. A limit is judged in one of its own.
  const isAlone = request.once === undefined && !plan.charged
  const alone = isAlone ? await insertSingle(db, plan, wanted) : undefined
  if (alone === 'upload') throw inputForbidden()
  if (alone !== undefined && alone !== 'limit') return alone
  return createOnce(db, request.once, async (tx) => {
    let task = alone ?? (await insertSingle(tx, plan, wanted))
    if (task === 'limit') {
      await refuseAtLimit(tx, workspaceId, plan)
      task = await insertSingle(tx, plan, wanted)
    }
    if (task === 'limit') throw new Error('there was room under the lock, and then there was none')
    if (task === 'upload') throw inputForbidden()
    if (plan.charged) await holdCredits(tx, workspaceId, { taskId: task.id, run: task.run }, creditCost)
    return task
  })
}

/**
 * After `takeSingleSlot` found no row, for a creation and a retry alike. Returns when there is room by now: it is the
 * caller's, who holds the workspace's lock.
 * @throws MatteError TASK_CONCURRENT_LIMIT, DEVELOPER_API_QUOTA_EXCEEDED
 */
export async function refuseAtLimit(tx: Db, workspaceId: string, plan: Plan): Promise<void> {
  const exhausted = await findExhaustedLimit(tx, workspaceId, plan)
  if (exhausted === undefined) return
  if (exhausted.limit === 'quota') throw quotaExceeded(plan, exhausted.resetsAt)
  throw new MatteError(
    'TASK_CONCURRENT_LIMIT',
    `Your plan takes ${plan.concurrentTasks} open task(s) at once; wait for one to end.`,
    { details: { limit: plan.concurrentTasks } },
  )
}

export const quotaExceeded = (plan: Plan, resetsAt: Date, details: Details = {}): MatteError =>
  new MatteError('DEVELOPER_API_QUOTA_EXCEEDED', `Your plan takes ${plan.monthlyQuota} tasks a month.`, {
    details: { limit: plan.monthlyQuota, resetsAt: resetsAt.toISOString(), ...details },
  })
