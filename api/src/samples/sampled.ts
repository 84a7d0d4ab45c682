import type { Clock } from '@matte/core/runtime/clock'

type SampledOptions<Value> = {
  readonly everyMs: number
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly read: () => Promise<Value>
}

export type Sampled<Value> = {
  /**
   * Reads unless that was tried a moment ago, so that a reading that fails is no load of its own; what is known is
   * forgotten when it fails. @throws as `read`
   */
  refresh(): Promise<void>
  /** What was read last, or undefined when that is too old to be shown as if it were so now. */
  current(): Value | undefined
}

/** A value counts for so many times the pause between two readings. */
const intervalsMax = 3
/** Readings that a timer brings a little too early are not left out. */
const earlyMs = 1_000

export function sampled<Value>({ everyMs, clock, read }: SampledOptions<Value>): Sampled<Value> {
  let known: { readonly value: Value; readonly atMs: number } | undefined
  let triedAtMs: number | undefined
  return {
    refresh: async () => {
      const atMs = clock.monotonicMs()
      if (triedAtMs !== undefined && atMs - triedAtMs < everyMs - earlyMs) return
      triedAtMs = atMs
      try {
        known = { value: await read(), atMs }
      } catch (error) {
        known = undefined
        throw error
      }
    },
    current: () =>
      known !== undefined && clock.monotonicMs() - known.atMs <= intervalsMax * everyMs ? known.value : undefined,
  }
}
