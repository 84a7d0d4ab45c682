// Runs one task from claim to end: photo → pixels → mask → cut-out → store → row. The claim is renewed meanwhile; once
// it is lost, work stops and nothing is written. Writes are fenced, so a worker that was paused for an hour cannot
// overwrite a newer run.

import type { Db } from '@matte/core/db/database'
import type { DoorWish } from '@matte/core/db/tables/task'
import { inSpan } from '@matte/core/runtime/tracing'
import type { Bucket } from '@matte/core/storage/bucket'
import { partsKey, resultKey } from '@matte/core/storage/object-key'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import { renewClaim } from '@matte/core/task/run/claim-task'
import { takeInjectedFault } from '@matte/core/task/run/fault-injection'
import { finishTask } from '@matte/core/task/run/finish-task'
import type { Claim } from '@matte/core/task/task'
import { slotCounter } from '@matte/core/task/task'
import type { TaskRow } from '@matte/core/task/task-queries'
import { mimeTypes } from '@matte/core/workspace/format'
import { type Plans, planNamed } from '@matte/core/workspace/plan'
import type { Logger } from 'pino'
import { type AttemptRecord, recordAttempt } from './attempt-record.ts'
import { isSubject } from './image/cut-out/confidence.ts'
import { freeBytes } from './image/free-bytes.ts'
import { type ImageMemory, modelBytes, taskBytes } from './image/image-memory.ts'
import type { Background } from './image/layers.ts'
import { type MakeResultDeps, makeResult } from './make-result.ts'
import { InjectedFault, type RecordFailureDeps, recordFailure } from './record-failure.ts'

type RunTaskDeps = Omit<MakeResultDeps, 'attempt'> &
  RecordFailureDeps & {
    readonly bucket: Bucket
    readonly memory: ImageMemory
    readonly plans: Plans
    readonly claimMs: number
    readonly faultInjection: boolean
    readonly logger: Logger
  }

/**
 * Never rejects. `stopped` gives the task back. False: the task has ended, and no other of its workspace waits, so
 * nothing became claimable.
 */
export async function runTask(deps: RunTaskDeps, task: ClaimedTask, stopped: AbortSignal): Promise<boolean> {
  const { db, claimMs, logger, metrics } = deps
  const log = logger.child({ task_id: task.id, run: task.run, attempt: task.attempt })
  const claim = keepClaim(db, task, claimMs, log)
  const signal = AbortSignal.any([stopped, claim.lost])
  const attributes = { 'matte.task_id': task.id, 'matte.run': task.run, 'matte.attempt': task.attempt }
  metrics.queueWait.observe(task.waitedMs / 1000)
  if (task.takenOver) metrics.claims.expired.inc({ kind: 'task' })
  const endTimer = metrics.duration.startTimer()
  const attempt = recordAttempt(metrics)
  try {
    return await inSpan('task.run', { kind: 'consumer', traceparent: task.traceparent, attributes }, () =>
      work({ ...deps, attempt }, task, signal, log),
    )
  } catch (error) {
    await recordFailure(deps, task, {
      error,
      stopped: stopped.aborted,
      lost: claim.lost.aborted,
      work: attempt.work(),
      log,
    })
    return true
  } finally {
    endTimer()
    claim.release()
  }
}

type AttemptDeps = RunTaskDeps & { readonly attempt: AttemptRecord }

async function work(deps: AttemptDeps, task: ClaimedTask, signal: AbortSignal, log: Logger): Promise<boolean> {
  const { attempt, bucket, memory, metrics, plans } = deps
  if (deps.faultInjection && task.faultAttempts > 0 && (await takeInjectedFault(deps.db, task)))
    throw new InjectedFault()
  const { maxPixels } = planNamed(plans, task.plan)
  const wish = task.door?.kind === 'background' ? task.door : undefined
  const fileBytes = task.sourceSizeBytes + (wish?.sizeBytes ?? 0)
  const releaseFile = await attempt.stage('wait', () => memory.files.acquire(fileBytes, signal))
  let releasePixels: () => void = () => undefined
  try {
    const file = await attempt.stage('fetch', () =>
      bucket.get(task.sourceKey, { etag: task.sourceEtag, maxBytes: task.sourceSizeBytes, signal }),
    )
    const header = await deps.sharpCalls.readHeader(signal, file, maxPixels)
    const background = wish && (await readBackground(deps, wish, { maxPixels, signal }))
    const bytes = taskBytes(task, header, background, maxPixels) + modelBytes(deps.picker.inputSize(task.modelVersion))
    releasePixels = await attempt.stage('wait', () => memory.pixels.acquire(bytes, signal))
    const made = await makeResult(deps, task, { file, header, maxPixels, background, onFreed: releaseFile }, signal)
    const { file: result, parts, format, width, height, foreground, confidence, pod } = made
    const key = resultKey(task, format)
    // The task is free because nothing of its picture is given out (A256).
    const isFree = task.charge === 'if_subject' && !isSubject(made)
    if (parts !== undefined && !isFree) {
      await attempt.stage('store', () => bucket.put(partsKey(key), parts, { contentType: 'application/zip', signal }))
    }
    if (!isFree) {
      await attempt.stage('store', () => bucket.put(key, result, { contentType: mimeTypes[format], signal }))
    }
    const resultSizeBytes = result.length
    freeBytes(result)
    const outcome = { resultKey: key, resultFormat: format, resultSizeBytes, width, height, foreground, confidence }
    const ending = { status: 'succeeded', ...outcome, isFree, work: attempt.work() } as const
    const ended = await metrics.stage('finish', () => finishTask(deps.db, task, ending))
    if (ended === undefined) {
      await discardResult(deps, key, log)
      return true
    }
    metrics.attemptEnded('succeeded')
    if (confidence !== undefined) metrics.confidence.observe({ model_version: task.modelVersion }, confidence)
    metrics.ends.record(ended.ends)
    // A batch's children wait for the plan's limit, which says nothing about the pods' latency.
    if (slotCounter(task) === 'open_singles') deps.inferences.recordEnd(pod, secondsOf(ended))
    log.info({ width, height, waited_ms: task.waitedMs, result_bytes: resultSizeBytes }, 'task succeeded')
    deps.nudgeChange(task.workspaceId)
    // A batch's last child also ends the batch, which has its own deliveries.
    if (ended.deliveries > 0 || task.batchId !== null) deps.nudgeDelivery(task.id)
    return ended.othersWait
  } finally {
    releaseFile()
    releasePixels()
  }
}

type Reading = { readonly maxPixels: number; readonly signal: AbortSignal }
type BackgroundWish = Extract<DoorWish, { kind: 'background' }>

/** @throws StorageError, ImageError as for the image itself */
async function readBackground(
  { bucket, attempt, sharpCalls }: AttemptDeps,
  { objectKey, etag, sizeBytes }: BackgroundWish,
  { maxPixels, signal }: Reading,
): Promise<Background> {
  const file = await attempt.stage('fetch', () => bucket.get(objectKey, { etag, maxBytes: sizeBytes, signal }))
  return { file, header: await sharpCalls.readHeader(signal, file, maxPixels), maxPixels }
}

const secondsOf = ({ queued_at, completed_at }: TaskRow): number =>
  ((completed_at ?? queued_at).getTime() - queued_at.getTime()) / 1_000

/** The run has ended elsewhere; nothing refers to the stored result. */
async function discardResult({ bucket, metrics }: RunTaskDeps, key: string, log: Logger): Promise<void> {
  metrics.attemptEnded('lost')
  log.warn('claim was lost; result discarded')
  // Parts of a door are deleted with the task.
  await bucket.delete(key).catch((error: unknown) => log.warn({ err: error, object_key: key }, 'result not deleted'))
}

/**
 * Renews a claim at a third of its life. `lost` aborts after a life without renewal, by the monotonic clock, which runs
 * while the process is paused.
 */
export function keepClaim(db: Db, claim: Claim, claimMs: number, logger: Logger) {
  const lost = new AbortController()
  let aliveUntil = performance.now() + claimMs
  let renewing = false

  async function renew(): Promise<void> {
    const askedAt = performance.now()
    try {
      if (await renewClaim(db, claim, claimMs)) aliveUntil = askedAt + claimMs
      else lost.abort()
    } catch (error) {
      logger.warn({ err: error }, 'claim not renewed')
    }
  }

  const timer = setInterval(() => {
    if (performance.now() >= aliveUntil) lost.abort()
    if (renewing || lost.signal.aborted) return
    renewing = true
    void renew().finally(() => {
      renewing = false
    })
  }, claimMs / 3)

  return { lost: lost.signal, release: () => clearInterval(timer) }
}
