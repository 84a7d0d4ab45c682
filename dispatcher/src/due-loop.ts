// Claims due deliveries and keeps the attempt slots busy. A pass claims no more deliveries than there are free slots,
// so no claim waits in memory, and a receiver that hangs occupies only its own slots. A pass runs on a nudge, when an
// attempt ends while more wait, when the next delivery is due, and every second.

import type { Db } from '@matte/core/db/database'
import type { Clock } from '@matte/core/runtime/clock'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { type ClaimedDelivery, claimDueDeliveries } from '@matte/core/webhook/claim-deliveries'
import { readDueState } from '@matte/core/webhook/delivery-queries'
import type { Logger } from 'pino'
import { attemptSlots } from './attempt-slots.ts'
import type { Assignment } from './deliver.ts'
import type { DeliveryMetrics } from './delivery-metrics.ts'

type DueLoopOptions = {
  readonly db: Db
  /** Makes one attempt; never rejects. */
  readonly deliver: (assignment: Assignment, signal: AbortSignal) => Promise<void>
  /** Attempts in flight at once in this process. */
  readonly slots: number
  /** Total time of one attempt. */
  readonly timeoutMs: number
  /** Time for attempts in flight after a stop; deliveries that need longer are given back. */
  readonly finishWithinMs: number
  readonly clock: Clock
  readonly metrics: DeliveryMetrics
  readonly logger: Logger
}

export type DueLoop = Service & {
  /** Claims due deliveries now. */
  wake(): void
  /** Resolves when a slot is free, or on abort. */
  untilFree(signal: AbortSignal): Promise<void>
}

/** Bound for lost nudges; a due delivery is sent within 5 s (D64). */
const everyMs = 1_000
/** Maximum attempts in flight per workspace and host (D65). */
const perTargetInFlight = 4
/** Nudges and ends within this time share one claim, which raises throughput under load by half. */
const gatherMs = 5
/** Time of a claim beyond its attempt, to read the secret before and record the result after. */
const claimMarginMs = 15_000

export function dueLoop(options: DueLoopOptions): DueLoop {
  const { db, slots, timeoutMs, clock, metrics, logger } = options
  const claimMs = timeoutMs + claimMarginMs
  // Hanging receivers of one workspace occupy at most a quarter of the slots.
  const perWorkspaceInFlight = Math.max(1, Math.floor(slots / 4))
  const attempts = attemptSlots({ slots, metrics, deliver: options.deliver, ended: onEnd })
  let [moreWaits, ended] = [false, 0]
  let stateReadAtMs = Number.NEGATIVE_INFINITY
  let gathering: NodeJS.Timeout | undefined
  let nextDue: NodeJS.Timeout | undefined

  async function pass(signal: AbortSignal): Promise<void> {
    // A nudge says that something is due, so the state is read by the timer and when the next delivery is due.
    if (clock.monotonicMs() - stateReadAtMs >= everyMs / 2 && !(await isAnyDue())) return
    const limit = attempts.free()
    const endedBefore = ended
    moreWaits = limit > 0 && !signal.aborted ? await claim(limit) : true
    // An attempt that ended during the claim may have made room for another one.
    if (moreWaits && ended !== endedBefore) wake()
  }

  function onEnd(): void {
    ended += 1
    if (moreWaits) wake()
  }

  async function isAnyDue(): Promise<boolean> {
    clearTimeout(nextDue)
    const { waiting, oldestDueAgeMs, nextDueInMs } = await readDueState(db, 1)
    stateReadAtMs = clock.monotonicMs()
    metrics.dueAge.set(oldestDueAgeMs / 1_000)
    if (nextDueInMs !== null && nextDueInMs < everyMs) nextDue = setTimeout(wakeDue, Math.ceil(nextDueInMs))
    moreWaits = waiting > 0
    return moreWaits
  }

  function wakeDue(): void {
    stateReadAtMs = Number.NEGATIVE_INFINITY
    inner.wake()
  }

  /** Returns whether others wait. */
  async function claim(limit: number): Promise<boolean> {
    const claimedAtMs = clock.monotonicMs()
    const bounds = { limit, claimMs, perTargetInFlight, perWorkspaceInFlight }
    const { deliveries, waits } = await claimDueDeliveries(db, bounds)
    for (const delivery of deliveries) begin(delivery, claimedAtMs)
    metrics.claims.expired.inc({ kind: 'delivery' }, deliveries.filter(({ takenOver }) => takenOver).length)
    return waits
  }

  function begin(delivery: ClaimedDelivery, claimedAtMs: number): void {
    const beginBeforeMs = claimedAtMs + claimMarginMs / 2
    attempts.begin({ delivery, claimedAtMs, beginBeforeMs, claimEndsAtMs: claimedAtMs + claimMs })
  }

  function wake(): void {
    if (attempts.free() === slots) inner.wake()
    else gathering ??= setTimeout(wakeGathered, gatherMs)
  }

  function wakeGathered(): void {
    gathering = undefined
    inner.wake()
  }

  const inner = loop({ name: 'due-deliveries', everyMs, run: countingFailures(metrics, pass), logger })

  return {
    name: inner.name,
    start: inner.start,
    wake,
    untilFree: attempts.untilFree,
    stopTaking: inner.halt,
    stop: async () => {
      await inner.stop()
      clearTimeout(nextDue)
      clearTimeout(gathering)
      await attempts.finish(options.finishWithinMs)
    },
  }
}

const countingFailures =
  ({ claims }: DeliveryMetrics, pass: (signal: AbortSignal) => Promise<void>) =>
  async (signal: AbortSignal): Promise<Record<string, number>> => {
    try {
      await pass(signal)
    } catch (error) {
      claims.failures.inc({ kind: 'delivery' })
      throw error
    }
    return {} // each attempt is logged
  }
