// Finds what is due and keeps the slots busy. A pass claims at most as many deliveries as slots are free, so a claim
// never waits in memory; attempts run side by side and no pass waits for one, so a receiver that hangs costs its own
// slots only. A pass follows a nudge, the end of an attempt while more waits, the due time of the next delivery, and
// a second without any of these. If the process dies, its claims lapse and another's pass takes them.

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
  /** After a stop, attempts in flight may go on for so long; then they are given back. */
  readonly finishWithinMs: number
  readonly clock: Clock
  readonly metrics: DeliveryMetrics
  readonly logger: Logger
}

export type DueLoop = Service & {
  /** Something may be due: claim now. */
  wake(): void
  /** Resolves when a slot is free, or at the abort. */
  untilFree(signal: AbortSignal): Promise<void>
}

/** Lost nudges and other processes' ends are seen after this; a due delivery leaves within 5 s (D64). */
const everyMs = 1_000
/** In flight per workspace and host (D65). */
const perTargetInFlight = 4
/** Under load nudges and ends are gathered for so long, and one claim serves them all: half as many again a second. */
const gatherMs = 5
/** How much longer than an attempt its claim holds: time to read the secret before, and to record after. */
const claimMarginMs = 15_000

export function dueLoop(options: DueLoopOptions): DueLoop {
  const { db, slots, timeoutMs, clock, metrics, logger } = options
  const claimMs = timeoutMs + claimMarginMs
  // Hanging hosts of one owner fill a quarter of the slots at most, so that four such owners are needed to fill all.
  const perWorkspaceInFlight = Math.max(1, Math.floor(slots / 4))
  const attempts = attemptSlots({ slots, metrics, deliver: options.deliver, ended: () => moreWaits && wake() })
  let moreWaits = false
  let gathering: NodeJS.Timeout | undefined
  let nextDue: NodeJS.Timeout | undefined

  async function pass(signal: AbortSignal): Promise<void> {
    clearTimeout(nextDue)
    const { waiting, oldestDueAgeMs, nextDueInMs } = await readDueState(db, slots + 1)
    metrics.dueAge.set(oldestDueAgeMs / 1_000)
    if (nextDueInMs !== null && nextDueInMs < everyMs) nextDue = setTimeout(inner.wake, Math.ceil(nextDueInMs))
    const limit = Math.min(waiting, attempts.free())
    const claimed = limit > 0 && !signal.aborted ? await claim(limit) : 0
    moreWaits = waiting > claimed
  }

  async function claim(limit: number): Promise<number> {
    const claimedAtMs = clock.monotonicMs()
    const deliveries = await claimDueDeliveries(db, { limit, claimMs, perTargetInFlight, perWorkspaceInFlight })
    for (const delivery of deliveries) begin(delivery, claimedAtMs)
    metrics.claims.expired.inc({ kind: 'delivery' }, deliveries.filter(({ takenOver }) => takenOver).length)
    return deliveries.length
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
    return {} // each attempt has a log line of its own
  }
