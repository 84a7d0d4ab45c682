// Outcome of a failed attempt: give the task back, retry later, or fail permanently.
import type { Db } from '@matte/core/db/database'
import { StorageError } from '@matte/core/storage/storage-error'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import type { AttemptWork } from '@matte/core/task/attempt-work'
import type { FailureReason } from '@matte/core/task/failure'
import { type ClaimedTask, giveBackClaim } from '@matte/core/task/run/claim-task'
import { failAttempt } from '@matte/core/task/run/finish-task'
import type { Logger } from 'pino'
import { ImageError } from './image/image-error.ts'
import type { TaskMetrics } from './task-metrics.ts'
import { InferenceError, isUnavailable } from './triton/inference-error.ts'

export type RecordFailureDeps = {
  readonly db: Db
  readonly metrics: TaskMetrics
  readonly store: Pick<StoreProbe, 'confirmDown'>
  readonly nudgeDelivery: (taskId: string) => void
  readonly nudgeChange: (workspaceId: string) => void
}

/** A failure injected by an operator. */
export class InjectedFault extends Error {}

type Failure = {
  readonly error: unknown
  readonly stopped: boolean
  readonly lost: boolean
  readonly work: AttemptWork
  readonly log: Logger
}

/** Logs its own errors and never rejects. */
export async function recordFailure(deps: RecordFailureDeps, task: ClaimedTask, failure: Failure): Promise<void> {
  const { db, metrics, store } = deps
  const { error, stopped, lost, work, log } = failure
  if (lost) {
    metrics.attemptEnded('lost')
    return log.warn('claim was lost; work stopped')
  }
  try {
    const isThrottled = error instanceof StorageError && error.throttled
    if (stopped || isUnavailable(error) || isThrottled || (await isOutage(store, error))) {
      const isGivenBack = (await giveBackClaim(db, task, isThrottled ? throttledMs() : 0)) !== undefined
      metrics.attemptEnded(isGivenBack ? 'given_back' : 'lost')
      if (!isGivenBack) return log.warn({ err: error }, 'claim was lost; nothing given back')
      return log.info({ err: error, stopped }, 'task given back')
    }
    const reason = reasonOf(error)
    const ended = await failAttempt(db, task, reason, work)
    const outcome = typeof ended === 'string' ? ended : 'failed'
    metrics.attemptEnded(outcome, reason)
    log.warn({ err: error, reason, outcome }, 'task attempt failed')
    if (ended !== 'lost') deps.nudgeChange(task.workspaceId)
    if (typeof ended === 'string') return
    metrics.ends.record(ended.ends)
    deps.nudgeDelivery(task.id)
  } catch (notRecorded) {
    // The claim will lapse, and another worker will repeat the attempt.
    log.error({ err: notRecorded, cause: error }, 'task outcome not recorded')
  }
}

/** Pause before a throttled store is asked again, spread over two seconds. */
const throttledMs = (): number => 1_000 + Math.random() * 2_000

/** A store that answers the probe but rejects one task is up: that attempt counts, so the task ends eventually. */
const isOutage = async (store: RecordFailureDeps['store'], error: unknown): Promise<boolean> =>
  error instanceof StorageError && error.kind === 'unavailable' && (await store.confirmDown())

const storageReasons = {
  missing: 'INPUT_MISSING',
  changed: 'INPUT_CHANGED',
  range: 'INTERNAL',
  unavailable: 'STORAGE_ERROR',
} as const satisfies Record<StorageError['kind'], FailureReason>

function reasonOf(error: unknown): FailureReason {
  if (error instanceof ImageError) return error.reason
  if (error instanceof InjectedFault) return 'INFERENCE_ERROR'
  if (error instanceof InferenceError) return error.kind === 'timeout' ? 'INFERENCE_TIMEOUT' : 'INFERENCE_ERROR'
  if (error instanceof StorageError) return storageReasons[error.kind]
  return 'INTERNAL'
}
