/** Measures durations and feeds pure deciders; it never reaches a column, whose times are the database's (D82). */
export type Clock = {
  /** Milliseconds of a monotonic clock. */
  readonly monotonicMs: () => number
  /** Milliseconds since the Unix epoch, for presigning and signatures only. */
  readonly nowMs: () => number
}

export const systemClock: Clock = { monotonicMs: () => performance.now(), nowMs: () => Date.now() }
