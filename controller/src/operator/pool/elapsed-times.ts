// Elapsed time since times in a pool's status. Within a leader's term it uses the monotonic clock, so clock jumps
// neither promote nor roll back a revision. A new leader continues from the times in status.

/** By status time: seconds that had passed when this process first read it, and the monotonic time of that read. */
export type ElapsedTimes = Map<string, { readonly seconds: number; readonly atMs: number }>

type Clocks = {
  readonly now: Date
  readonly nowMs: number
}

export function elapsedSince(known: ElapsedTimes, time: string, { now, nowMs }: Clocks): number {
  const first = known.get(time) ?? { seconds: Math.max(0, (now.getTime() - Date.parse(time)) / 1000), atMs: nowMs }
  known.set(time, first)
  return first.seconds + (nowMs - first.atMs) / 1000
}

/** Forgets all other times and starts measuring new ones. */
export function keepTimes(known: ElapsedTimes, times: readonly (string | undefined)[], clocks: Clocks): void {
  for (const time of known.keys()) if (!times.includes(time)) known.delete(time)
  for (const time of times) if (time !== undefined) elapsedSince(known, time, clocks)
}
