// Elapsed time since the times in a pool's status. Within a leader's term it follows the monotonic clock, so a wall
// clock that jumps neither promotes nor rolls back a revision; a new leader continues from the times in status.

/** By time as status has it: seconds that had passed when this process first read it, and that moment. */
export type ElapsedTimes = Map<string, { readonly seconds: number; readonly atMs: number }>

type Clocks = {
  readonly now: Date
  /** Milliseconds of the monotonic clock. */
  readonly nowMs: number
}

export function elapsedSince(known: ElapsedTimes, time: string, { now, nowMs }: Clocks): number {
  const first = known.get(time) ?? { seconds: Math.max(0, (now.getTime() - Date.parse(time)) / 1000), atMs: nowMs }
  known.set(time, first)
  return first.seconds + (nowMs - first.atMs) / 1000
}

/** Forgets all other times, and begins to measure from those that are new. */
export function keepTimes(known: ElapsedTimes, times: readonly (string | undefined)[], clocks: Clocks): void {
  for (const time of known.keys()) if (!times.includes(time)) known.delete(time)
  for (const time of times) if (time !== undefined) elapsedSince(known, time, clocks)
}
