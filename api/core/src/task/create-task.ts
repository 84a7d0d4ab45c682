import { holdCredits } from '../credit/hold.ts'
import type { Db } from '../db/database.ts'
import { createOnce, type OnceRequest } from '../idempotency/create-once.ts'
import { findUpload } from '../upload/grant-queries.ts'
import { type Inspected, inputForbidden, inspectObject } from '../upload/inspect-object.ts'
import { findReachedLimit, toLimitError } from '../workspace/limit/single-slot.ts'
import type { Plan } from '../workspace/plan.ts'
import { type Insertion, insertSingle, type NewTask } from './insert-task.ts'
import { creditCost } from './limits.ts'
import { type RequestedOutput, resolveOutput } from './output.ts'
import type { TaskRow } from './task-queries.ts'

type CreateTask = {
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
  /** The member whose work it is; null: unknown. */
  readonly createdBy?: string | null | undefined
  readonly traceparent: string | null
  /** Made in the App: whoever made it is told of its end. */
  readonly notifyMaker?: boolean
}

/**
 * Accepts a task: inspects the object, then takes a concurrency slot, quota and credit, and writes the row, in one
 * transaction that commits synchronously before this returns. The checks come in the order of D4.
 * @throws MatteError TASK_INPUT_FORBIDDEN, TASK_FILE_SIZE_EXCEEDED, TASK_FORMAT_NOT_SUPPORTED,
 *   TASK_STORAGE_UNAVAILABLE, TASK_OUTPUT_FORMAT_NOT_SUPPORTED, TASK_CONCURRENT_LIMIT, QUOTA_EXCEEDED,
 *   CREDITS_INSUFFICIENT, CONFLICT; AlreadyCreated
 */
export async function createTask(db: Db, bucket: Inspected, request: CreateTask): Promise<TaskRow> {
  const { workspaceId, plan, imageUrl, once } = request
  const upload = await findUpload(db, workspaceId, imageUrl)
  if (upload === undefined) throw inputForbidden()
  const { etag, sizeBytes } = await inspectObject(bucket, upload.objectKey, plan)
  const output = resolveOutput(request.output ?? null, plan)
  const task = {
    workspaceId,
    uploadId: upload.id,
    sourceKey: upload.objectKey,
    sourceEtag: etag,
    sourceSizeBytes: sizeBytes,
    modelVersion: request.modelVersion,
    callbackUrl: request.callbackUrl,
    output,
    creditCost,
    createdBy: request.createdBy ?? null,
    traceparent: request.traceparent,
    notifyMaker: request.notifyMaker,
  }
  // Where nothing else belongs to it, the one statement is the transaction. A limit is judged in one of its own.
  const alone = once === undefined && !plan.charged ? await insertSingle(db, plan, task) : undefined
  if (alone !== undefined && alone.kind !== 'limit-reached') return toTask(plan, alone)
  return createOnce(db, once, async (tx) => {
    const first = alone ?? (await insertSingle(tx, plan, task))
    const created = toTask(plan, first.kind === 'limit-reached' ? await insertUnderLock(tx, plan, task) : first)
    const { id: taskId, run, created_by: userId } = created
    if (plan.charged) await holdCredits(tx, { workspaceId, userId, taskId, run, amount: creditCost })
    return created
  })
}

/** After a limit was reached: which one, or the task after all, when there is room under the workspace's lock. */
async function insertUnderLock(tx: Db, plan: Plan, task: NewTask): Promise<Insertion> {
  const reached = await findReachedLimit(tx, task.workspaceId, plan)
  return reached === undefined ? insertSingle(tx, plan, task) : { kind: 'limit-reached', reached }
}

/** @throws MatteError TASK_INPUT_FORBIDDEN, TASK_CONCURRENT_LIMIT, QUOTA_EXCEEDED */
function toTask(plan: Plan, insertion: Insertion): TaskRow {
  if (insertion.kind === 'created') return insertion.task
  if (insertion.kind === 'upload-gone') throw inputForbidden()
  if (insertion.reached === undefined) throw new Error('a slot was free under the lock, and could not be taken')
  throw toLimitError(plan, insertion.reached)
}
