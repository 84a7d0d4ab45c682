import { settledWithin } from '@matte/core/runtime/race'
import { deferred, pause } from '@matte/core/runtime/service'
import type { Gauge } from 'prom-client'

type AttemptSlotsOptions<Assignment> = {
  readonly slots: number
  readonly metrics: { readonly inFlight: Pick<Gauge, 'set'> }
  /** Makes one attempt; never rejects. */
  readonly deliver: (assignment: Assignment, signal: AbortSignal) => Promise<void>
  /** Called when an attempt has ended and its slot is free. */
  readonly ended: () => void
}

type AttemptSlots<Assignment> = {
  /** Number of free slots. */
  free(): number
  begin(assignment: Assignment): void
  /** Resolves when a slot is free or the signal is aborted. */
  untilFree(signal: AbortSignal): Promise<void>
  /** Waits up to `withinMs`, then aborts the attempts. Resolves when none is in flight. */
  finish(withinMs: number): Promise<void>
}

/** Guards against a missed wake-up. */
const recheckMs = 1_000

/** Bounds the attempts in flight of this process. Deliveries and mails have separate slots. */
export function attemptSlots<Assignment>(options: AttemptSlotsOptions<Assignment>): AttemptSlots<Assignment> {
  const { slots, metrics, deliver, ended } = options
  const inFlight = new Set<Promise<void>>()
  const ending = new AbortController()
  let freed = deferred<void>()

  function begin(assignment: Assignment): void {
    const attempt = deliver(assignment, ending.signal).finally(() => {
      inFlight.delete(attempt)
      metrics.inFlight.set(inFlight.size)
      freed.resolve()
      freed = deferred()
      ended()
    })
    inFlight.add(attempt)
    metrics.inFlight.set(inFlight.size)
  }

  return {
    free: () => slots - inFlight.size,
    begin,
    untilFree: async (signal) => {
      while (inFlight.size >= slots && !signal.aborted) await Promise.race([freed.promise, pause(recheckMs, signal)])
    },
    finish: async (withinMs) => {
      const all = Promise.all(inFlight)
      await settledWithin(all, withinMs)
      ending.abort(new Error('the process is stopping'))
      await all
    },
  }
}
