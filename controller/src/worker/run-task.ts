// One task from its claim to its end: photo → pixels → mask → cut-out → store → row. The claim is kept alive
// meanwhile; once it is lost, work stops and nothing is written. Every way out writes the row through a fenced
// statement, so a worker that was stopped for an hour and goes on finds that it has nothing to say any more.
import type { Db } from '@matte/core/db/database'
import { inSpan } from '@matte/core/runtime/tracing'
import type { Bucket } from '@matte/core/storage/bucket'
import { resultKey } from '@matte/core/storage/result-key'
import { StorageError } from '@matte/core/storage/storage-error'
import type { FailureReason } from '@matte/core/task/failure'
import { defaultOutput } from '@matte/core/task/output'
import { type ClaimedTask, giveBackClaim } from '@matte/core/task/run/claim-task'
import { takeInjectedFault } from '@matte/core/task/run/fault-injection'
import { failAttempt, finishTask } from '@matte/core/task/run/finish-task'
import { slotCounter } from '@matte/core/task/task'
import type { TaskRow } from '@matte/core/task/task-queries'
import { mimeTypes } from '@matte/core/workspace/format'
import { type Plans, planNamed } from '@matte/core/workspace/plan'
import type { Logger } from 'pino'
import { decodePhoto, type PhotoHeader, readHeader } from './image/decode.ts'
import { encodeResult } from './image/encode.ts'
import { freeBytes } from './image/free-bytes.ts'
import { ImageError } from './image/image-error.ts'
import type { ImagePool } from './image/image-pool.ts'
import { toModelInput } from './image/model-input.ts'
import type { PixelBudget } from './image/pixel-budget.ts'
import type { InferenceRecord } from './inference-record.ts'
import { keepClaim } from './keep-claim.ts'
import type { PodPicker } from './routing/pod-picker.ts'
import type { Outcome } from './routing/pod-probation.ts'
import type { Pod } from './routing/pod-source.ts'
import type { TaskMetrics } from './task-metrics.ts'
import { InferenceError } from './triton/inference-error.ts'

export type RunTaskDeps = {
  readonly db: Db
  readonly bucket: Bucket
  readonly picker: PodPicker
  readonly images: ImagePool
  readonly pixels: PixelBudget
  readonly plans: Plans
  readonly claimMs: number
  readonly inferenceTimeoutMs: number
  readonly faultInjection: boolean
  readonly metrics: TaskMetrics
  readonly figures: Pick<InferenceRecord, 'record' | 'recordEnd'>
  readonly logger: Logger
  /** A delivery may have been written: tell the dispatcher. */
  readonly nudgeDelivery: (taskId: string) => void
}

/** An attempt that fails on purpose, asked for by an operator (D53). */
class InjectedFault extends Error {}

/** Never rejects; `stopped` asks to give the task back. */
export async function runTask(deps: RunTaskDeps, task: ClaimedTask, stopped: AbortSignal): Promise<void> {
  const { db, claimMs, logger, metrics } = deps
  const log = logger.child({ task_id: task.id, run: task.run, attempt: task.attempt })
  const claim = keepClaim(db, task, claimMs, log)
  const signal = AbortSignal.any([stopped, claim.lost])
  const attributes = { 'matte.task_id': task.id, 'matte.run': task.run, 'matte.attempt': task.attempt }
  metrics.queueWait.observe(task.waitedMs / 1000)
  const endTimer = metrics.duration.startTimer()
  try {
    await inSpan('task.run', { kind: 'consumer', traceparent: task.traceparent, attributes }, () =>
      work(deps, task, signal, log),
    )
  } catch (error) {
    await recordFailure(deps, task, { error, stopped: stopped.aborted, lost: claim.lost.aborted }, log)
  } finally {
    endTimer()
    claim.release()
  }
}

async function work(deps: RunTaskDeps, task: ClaimedTask, signal: AbortSignal, log: Logger): Promise<void> {
  const { bucket, metrics, plans } = deps
  if (deps.faultInjection && task.faultAttempts > 0 && (await takeInjectedFault(deps.db, task)))
    throw new InjectedFault()
  const { maxPixels } = planNamed(plans, task.plan)
  const file = await metrics.stage('fetch', () =>
    bucket.get(task.sourceKey, { etag: task.sourceEtag, maxBytes: task.sourceSizeBytes, signal }),
  )
  const header = await readHeader(file, { maxPixels })
  const release = await deps.pixels.acquire(header.width * header.height, signal)
  try {
    const {
      file: result,
      format,
      width,
      height,
      foreground,
      pod,
    } = await cutOutPhoto(deps, task, file, { maxPixels, header, signal })
    const key = resultKey(task, format)
    await metrics.stage('store', () => bucket.put(key, result, { contentType: mimeTypes[format], signal }))
    const resultSizeBytes = result.length
    freeBytes(result)
    const ended = await metrics.stage('finish', () =>
      finishTask(deps.db, task, {
        status: 'succeeded',
        resultKey: key,
        resultFormat: format,
        resultSizeBytes,
        width,
        height,
        foreground,
      }),
    )
    if (ended === undefined) return await discardResult(deps, key, log)
    metrics.ended.inc({ status: 'succeeded', reason: '' })
    // A batch's children wait for their turn in the plan's limit, which is no lateness of the pods.
    if (slotCounter(task) === 'open_singles') deps.figures.recordEnd(pod, secondsOf(ended))
    log.info({ width, height, waited_ms: task.waitedMs, result_bytes: resultSizeBytes }, 'task succeeded')
    // A batch's last child also ends the batch, which has deliveries of its own.
    if (ended.deliveries > 0 || task.batchId !== null) deps.nudgeDelivery(task.id)
  } finally {
    release()
  }
}

/** From the beginning of the run's waiting, which for a first run is its creation, to its end. */
const secondsOf = ({ queued_at, completed_at }: TaskRow): number =>
  ((completed_at ?? queued_at).getTime() - queued_at.getTime()) / 1_000

async function cutOutPhoto(
  deps: RunTaskDeps,
  task: ClaimedTask,
  file: Uint8Array,
  { maxPixels, header, signal }: { maxPixels: number; header: PhotoHeader; signal: AbortSignal },
) {
  const { images, picker, metrics } = deps
  const photo = await metrics.stage('decode', () => decodePhoto(file, { maxPixels, header }))
  freeBytes(file)
  const size = picker.inputSize(task.modelVersion)
  const image = await metrics.stage('prepare', () => toModelInput(photo, size))
  const isRetry = task.attempt > 1
  const { pod, mask } = await picker.withSlot(
    task.modelVersion,
    signal,
    async (chosen) => {
      const { inputSize } = chosen.shape
      // While a pool goes over to a model of another size, the slot may be of the one that was not expected.
      const input = inputSize === size ? image : await toModelInput(photo, inputSize)
      return { pod: chosen, mask: await inferOn(deps, chosen, task, { image: input, size: inputSize, signal }) }
    },
    { isRetry },
  )
  freeBytes(image)
  const { output } = task
  const { format, maxSide } = output ?? defaultOutput
  const made = await metrics.stage('refine', () => images.cutOut(photo, mask, { output }, signal))
  if ('file' in made) return { format, pod, ...made }
  return { format, pod, ...(await metrics.stage('encode', () => encodeResult(made, { format, maxSide }))) }
}

type ModelInput = { readonly image: Uint8Array; readonly size: number; readonly signal: AbortSignal }

/** One inference, measured and counted for its pod. */
async function inferOn(
  { metrics, figures, inferenceTimeoutMs }: RunTaskDeps,
  pod: Pod,
  task: ClaimedTask,
  input: ModelInput,
): Promise<Buffer> {
  const { client, tritonModel: model, address } = pod
  const begun = performance.now()
  const count = (outcome: Outcome): void => figures.record(pod, outcome, (performance.now() - begun) / 1_000)
  try {
    const mask = await metrics.stage('infer', () =>
      inSpan('triton.infer', { kind: 'client', attributes: { 'server.address': address } }, () =>
        client.infer({ model, id: `${task.id}/${task.run}/${task.claim}`, timeoutMs: inferenceTimeoutMs, ...input }),
      ),
    )
    count('ok')
    return mask
  } catch (error) {
    // What we ended ourselves says nothing of the pod.
    if (error instanceof InferenceError && !input.signal.aborted) count(error.kind)
    throw error
  }
}

/** The run was finished by somebody else: what this worker stored is referred to by nobody. */
async function discardResult({ bucket, metrics }: RunTaskDeps, key: string, log: Logger): Promise<void> {
  metrics.ended.inc({ status: 'lost', reason: '' })
  log.warn('claim was lost; result discarded')
  await bucket.delete(key).catch((error: unknown) => log.warn({ err: error, object_key: key }, 'result not deleted'))
}

type Failure = { readonly error: unknown; readonly stopped: boolean; readonly lost: boolean }

async function recordFailure(deps: RunTaskDeps, task: ClaimedTask, failure: Failure, log: Logger): Promise<void> {
  const { db, metrics } = deps
  const { error, stopped, lost } = failure
  if (lost) {
    metrics.ended.inc({ status: 'lost', reason: '' })
    return log.warn('claim was lost; work stopped')
  }
  try {
    if (stopped || isUnavailable(error)) {
      await giveBackClaim(db, task, 0)
      metrics.ended.inc({ status: 'given_back', reason: '' })
      return log.info({ err: error, stopped }, 'task given back')
    }
    const reason = reasonOf(error)
    const outcome = await failAttempt(db, task, reason)
    metrics.ended.inc({ status: outcome, reason })
    log.warn({ err: error, reason, outcome }, 'task attempt failed')
    if (outcome === 'failed') deps.nudgeDelivery(task.id)
  } catch (fault) {
    // The database does not take it: the claim lapses and another worker does the attempt again.
    log.error({ err: fault, cause: error }, 'task outcome not recorded')
  }
}

const isUnavailable = (error: unknown): boolean => error instanceof InferenceError && error.kind === 'unavailable'

function reasonOf(error: unknown): FailureReason {
  if (error instanceof ImageError) return error.reason
  if (error instanceof InjectedFault) return 'INFERENCE_ERROR'
  if (error instanceof InferenceError) return error.kind === 'timeout' ? 'INFERENCE_TIMEOUT' : 'INFERENCE_ERROR'
  if (error instanceof StorageError) {
    return { missing: 'INPUT_MISSING', changed: 'INPUT_CHANGED', range: 'INTERNAL', unavailable: 'STORAGE_ERROR' }[
      error.kind
    ] as FailureReason
  }
  return 'INTERNAL'
}
