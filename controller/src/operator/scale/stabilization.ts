// What the rule remembers between two decisions; a new leader begins with `startMemory` of decide.ts.

/** This many pods were wanted up to `untilSeconds`, and no later decision wanted as many. */
export type Peak = { readonly untilSeconds: number; readonly replicas: number }

export type ScaleMemory = {
  /** Later peaks are lower: each decides for a while after those before it have expired. */
  readonly peaks: readonly Peak[]
  /** No scale-down before this time; 0 when there was no burst. */
  readonly burstUntilSeconds: number
}

/** Peaks in one window: a window of 90 s is exact to 1.5 s, one of an hour to a minute. */
const peaksPerWindow = 60
/** There are more than one window's only while the window changes, as start-up times do. */
const peaksMax = 2 * peaksPerWindow

/**
 * A peak stands for a sixtieth of the window, so that few are kept. Lower values within that time are not recorded,
 * which keeps pods a little too long rather than too short.
 */
export function rememberPeak(
  peaks: readonly Peak[],
  nowSeconds: number,
  replicas: number,
  stabilizationWindowSeconds: number,
): Peak[] {
  const since = nowSeconds - stabilizationWindowSeconds
  const kept = peaks.filter((peak) => peak.replicas > replicas && peak.untilSeconds > since)
  const newest = kept.at(-1)
  if (newest && newest.untilSeconds > nowSeconds) return kept
  return dropOverflow([...kept, { untilSeconds: nowSeconds + stabilizationWindowSeconds / peaksPerWindow, replicas }])
}

/** Drops the second oldest; the oldest, which is higher, stands for its time too. */
function dropOverflow(peaks: Peak[]): Peak[] {
  const [oldest, second] = peaks
  if (peaks.length <= peaksMax || !oldest || !second) return peaks
  return [{ ...oldest, untilSeconds: second.untilSeconds }, ...peaks.slice(2)]
}

/** The most that any decision within the window wanted. */
export const highestPeak = (peaks: readonly Peak[]): number => peaks[0]?.replicas ?? 0
