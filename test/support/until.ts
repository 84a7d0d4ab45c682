// The only place in the tests that waits: for a condition, with a limit.
import { setTimeout as pause } from 'node:timers/promises'

type Found<T> = Exclude<T, undefined | null | false>

export type UntilOptions = {
  /** A bound against hanging, far above the needs of a slow machine; not a measure of speed. */
  readonly timeoutMs?: number
  readonly everyMs?: number
}

/**
 * Calls `ask` until the result is neither undefined, null nor false, and returns it. An exception counts as "not yet";
 * at the limit, the last one ends the message of the thrown error and is its cause.
 */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  { timeoutMs = 90_000, everyMs = 25 }: UntilOptions = {},
): Promise<Found<T>> {
  const deadline = performance.now() + timeoutMs
  let cause: unknown
  for (;;) {
    try {
      const answer = await ask()
      if (answer !== undefined && answer !== null && answer !== false) return answer as Found<T>
      cause = undefined
    } catch (error) {
      cause = error
    }
    if (performance.now() > deadline) {
      const why = cause instanceof Error ? `: ${cause.message}` : ''
      throw new Error(`waited ${timeoutMs / 1_000} s without success until ${what}${why}`, { cause })
    }
    await pause(everyMs)
  }
}
