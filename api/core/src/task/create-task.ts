import type { Audit } from '../audit/record-change.ts'
import { holdCredits } from '../credit/hold.ts'
import type { Db } from '../db/database.ts'
import type { DoorWish } from '../db/tables/task.ts'
import { createOnce, type OnceRequest } from '../idempotency/create-once.ts'
import { findUpload } from '../upload/grant-queries.ts'
import { type Inspected, inputForbidden, inspectObject } from '../upload/inspect-object.ts'
import { findReachedLimit, toLimitError } from '../workspace/limit/single-slot.ts'
import type { Plan } from '../workspace/plan.ts'
import { type Insertion, insertSingle, type NewTask } from './insert-task.ts'
import { creditCost } from './limits.ts'
import { type RequestedOutput, resolveOutput } from './output.ts'
import type { TaskRow } from './task-queries.ts'

/** `DoorWish` before the background is inspected. */
export type RequestedWish =
  | Extract<DoorWish, { kind: 'parts' }>
  | Pick<Extract<DoorWish, { kind: 'background' }>, 'kind' | 'objectKey'>

type CreateTask = {
  readonly workspaceId: string
  readonly plan: Plan
  /** Object key of a grant; unchecked text. */
  readonly imageUrl: string
  /** A served model; the caller has checked it. */
  readonly modelVersion: string
  /** Checked by `checkTargetUrl`. */
  readonly callbackUrl: string | null
  /** Checked here against the plan; null: defaults. */
  readonly output?: RequestedOutput | null
  readonly door?: RequestedWish | undefined
  /** A success without a subject is not charged. */
  readonly chargesSubjectsOnly?: boolean | undefined
  readonly once?: OnceRequest | undefined
  /** The creating member; null: unknown. */
  readonly createdBy?: string | null | undefined
  /** The creating key; undefined: a member. */
  readonly apiKeyId?: string | undefined
  readonly traceparent: string | null
  /** Created in the App: the creator is notified when the task ends. */
  readonly notifyMaker?: boolean
  /** Chosen for this task, in seconds; checked by `findRetentionIssue`. */
  readonly retention?: number | null
  /** Undefined: the task's row alone is the record of its creation. */
  readonly audit?: Audit | undefined
}

/**
 * Accepts a task: inspects the object, then takes slot, quota and credit and inserts the row in one synchronously
 * committed transaction. Callers rely on the order of the checks (D4): input, its size and format, output format,
 * concurrency, quota, credits.
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
  const door = await inspectWish(bucket, plan, request.door)
  const task = {
    workspaceId,
    uploadId: upload.id,
    sourceKey: upload.objectKey,
    sourceEtag: etag,
    sourceSizeBytes: sizeBytes,
    modelVersion: request.modelVersion,
    callbackUrl: request.callbackUrl,
    output,
    door,
    chargesSubjectsOnly: request.chargesSubjectsOnly,
    creditCost,
    createdBy: request.createdBy ?? null,
    apiKeyId: request.apiKeyId,
    traceparent: request.traceparent,
    notifyMaker: request.notifyMaker,
    retentionSeconds: request.retention,
  }
  // Without idempotency key and entry, the single statement needs no transaction around it.
  const isAlone = once === undefined && request.audit === undefined
  const alone = isAlone ? await insertSingle(db, plan, task, { holds: plan.charged }) : undefined
  if (alone !== undefined && alone.kind !== 'limit-reached') return toTask(plan, alone)
  return createOnce(db, once, async (tx) => {
    const first = alone ?? (await insertSingle(tx, plan, task))
    const created = toTask(plan, first.kind === 'limit-reached' ? await insertUnderLock(tx, plan, task) : first)
    const { id: taskId, run, created_by: userId } = created
    if (plan.charged) await holdCredits(tx, { workspaceId, userId, taskId, run, amount: creditCost })
    await request.audit?.(tx, taskId)
    return created
  })
}

/** A background is an input like the image: its limits are the same. */
async function inspectWish(bucket: Inspected, plan: Plan, wish: RequestedWish | undefined): Promise<DoorWish | null> {
  if (wish?.kind !== 'background') return wish ?? null
  const { etag, sizeBytes } = await inspectObject(bucket, wish.objectKey, plan)
  return { ...wish, etag, sizeBytes }
}

/** Checks the limits again under the workspace's lock: returns the reached limit, or inserts the task. */
async function insertUnderLock(tx: Db, plan: Plan, task: NewTask): Promise<Insertion> {
  const reached = await findReachedLimit(tx, task.workspaceId, plan)
  return reached === undefined ? insertSingle(tx, plan, task) : { kind: 'limit-reached', reached }
}

/** @throws MatteError TASK_INPUT_FORBIDDEN, TASK_CONCURRENT_LIMIT, QUOTA_EXCEEDED */
function toTask(plan: Plan, insertion: Insertion): TaskRow {
  if (insertion.kind === 'created') return insertion.task
  if (insertion.kind === 'upload-gone') throw inputForbidden()
  if (insertion.reached === undefined) throw new Error('no slot could be taken although one was free under the lock')
  throw toLimitError(plan, insertion.reached)
}
