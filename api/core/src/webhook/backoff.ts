// Retry schedule (D64). Retry n follows the end of attempt n by min(2ⁿ, 60) units; a unit is a minute, shorter in
// tests. Without jitter: the interface states the delays.
//
//   retry       1  2  3   4   5   6   7   8   9  10  11  12
//   after min   2  4  8  16  32  60  60  60  60  60  60  60     12 retries: 482 minutes in all, then `exhausted`

export type RetryPolicy = {
  readonly maxRetries: number
  /** Milliseconds per minute of the schedule. */
  readonly retryUnitMs: number
}

const unitsMax = 60

/** Milliseconds from the end of failed attempt `attempt` (1, 2, …) to the next; undefined after the last. */
export function retryDelayMs(attempt: number, { maxRetries, retryUnitMs }: RetryPolicy): number | undefined {
  return attempt > maxRetries ? undefined : Math.min(2 ** attempt, unitsMax) * retryUnitMs
}
