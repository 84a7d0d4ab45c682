import type { Clock } from '@matte/core/runtime/clock'

type SampledOptions<Value> = {
  readonly everyMs: number
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly read: () => Promise<Value>
}

export type Sampled<Value> = {
  /** Reads at most once per interval, also after failures. A failure clears the value. @throws the error of `read` */
  refresh(): Promise<void>
  /** The last value; undefined when it is too old. */
  current(): Value | undefined
}

const intervalsMax = 3
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
