/** Clock of this process, for durations and signatures. Columns use the database clock instead (D82). */
export type Clock = {
  readonly monotonicMs: () => number
  /** Milliseconds since the Unix epoch, for signatures only. */
  readonly nowMs: () => number
}

export const systemClock: Clock = { monotonicMs: () => performance.now(), nowMs: () => Date.now() }
