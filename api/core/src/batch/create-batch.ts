import { holdCreditsEach } from '../credit/hold-batch.ts'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { createOnce, type OnceRequest } from '../idempotency/create-once.ts'
import type { Gate } from '../runtime/concurrency/gate.ts'
import { creditCost } from '../task/limits.ts'
import { type RequestedOutput, resolveOutput } from '../task/output.ts'
import type { TaskRow } from '../task/task-queries.ts'
import { type Inspected, inputForbidden } from '../upload/inspect-object.ts'
import { takeChildSlots, toChildLimitError } from '../workspace/limit/child-slots.ts'
import type { Plan } from '../workspace/plan.ts'
import { insertBatch, insertChildren } from './insert-batch.ts'
import { inspectSources, itemsRefused, type Source } from './inspect-sources.ts'
import type { BatchWithTasks } from './read-batch.ts'

type CreateBatch = {
  readonly workspaceId: string
  readonly plan: Plan
  /** Object keys of grants; any texts, at least one, repeats allowed. `findBatchRefusal` has found nothing. */
  readonly imageUrls: readonly string[]
  /** Valid already: the caller knows the list of models. */
  readonly modelVersion: string
  /** Vetted already by `checkTargetUrl`. */
  readonly callbackUrl: string | null
  /** For every child; judged here against the plan. Null: nothing asked for. */
  readonly output?: RequestedOutput | null
  /** The request's idempotency key, if it has one. */
  readonly once?: OnceRequest | undefined
  /** The member whose work it is; null: unknown. */
  readonly createdBy?: string | null | undefined
  readonly traceparent: string | null
  /** Made in the App: whoever made it is told of its end. */
  readonly notifyMaker?: boolean
  readonly gate: Pick<Gate, 'run'>
}

/** Why the plan takes no batch, or none of this size; judged before any object is inspected (D4). */
export function findBatchRefusal({ batchLimit }: Plan, size: number): MatteError | undefined {
  if (batchLimit === 0) {
    return new MatteError('TASK_BATCH_NOT_SUPPORTED', 'Your plan has no batches; create single tasks.')
  }
  if (size <= batchLimit) return undefined
  return new MatteError('TASK_BATCH_SIZE_EXCEEDED', `Your plan takes at most ${batchLimit} images in a batch.`, {
    details: { limit: batchLimit, size },
  })
}

/**
 * Accepts a batch, all of it or nothing (D50): inspects every object, then takes slots, quota and credits for all
 * children and writes them, in one transaction that commits synchronously before this returns.
 * @throws MatteError as `inspectSources`; TASK_OUTPUT_FORMAT_NOT_SUPPORTED, TASK_CONCURRENT_LIMIT,
 *   QUOTA_EXCEEDED, CREDITS_INSUFFICIENT, CONFLICT; AlreadyCreated
 */
export async function createBatch(db: Db, bucket: Inspected, request: CreateBatch): Promise<BatchWithTasks<TaskRow>> {
  const { workspaceId, plan, once } = request
  const sources = await inspectSources(db, bucket, request)
  const output = resolveOutput(request.output ?? null, plan)
  const { modelVersion, callbackUrl, createdBy = null, traceparent, notifyMaker } = request
  const wanted = { workspaceId, modelVersion, callbackUrl, output, creditCost, createdBy, traceparent, notifyMaker }
  return createOnce(db, once, async (tx) => {
    const slots = await takeChildSlots(tx, { workspaceId, plan, size: sources.length })
    if (slots.kind === 'refused') throw toChildLimitError({ plan, size: sources.length }, slots.reached)
    const batch = await insertBatch(tx, wanted, sources.length)
    const tasks = await insertChildren(tx, { ...wanted, batchId: batch.id }, sources)
    if (tasks.length < sources.length) throw givenUpMeanwhile(sources, new Set(tasks.map((task) => task.source_key)))
    const runs = tasks.map((task) => ({ taskId: task.id, run: task.run }))
    if (plan.charged) await holdCreditsEach(tx, { workspaceId, userId: createdBy, runs, amount: creditCost })
    return { id: batch.id, batch, tasks }
  })
}

function givenUpMeanwhile(sources: readonly Source[], live: ReadonlySet<string>): MatteError {
  const errors = sources.flatMap(({ objectKey }, index) =>
    live.has(objectKey) ? [] : [{ index, imageUrl: objectKey, error: inputForbidden() }],
  )
  return itemsRefused(errors)
}
