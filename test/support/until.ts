// The one place in the tests that lets time pass: everything else waits here, on a condition with a limit.
import { setTimeout as pause } from 'node:timers/promises'

type Found<T> = Exclude<T, undefined | null | false>

export type UntilOptions = {
  /** A bound against hanging, far above what a slow machine needs; it says nothing about speed. */
  readonly timeoutMs?: number
  readonly everyMs?: number
}

/**
 * Asks until the answer is neither undefined, null nor false, and returns it. A question that throws counts as "not
 * yet"; its last error ends the message of the error thrown at the limit, and is its cause.
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
