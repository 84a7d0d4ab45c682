// What the rule remembers between two looks: how many pods were wanted of late, and until when a burst lasts. Plain
// data, so that it can be logged, compared and kept; a new leader begins with `startMemory` of decide.ts.

/** So many pods were wanted up to `untilSeconds`, and no later look wanted as many. */
export type Peak = { readonly untilSeconds: number; readonly replicas: number }

export type ScaleMemory = {
  /** Later peaks are lower: each is the answer for a while once those before it have grown too old. */
  readonly peaks: readonly Peak[]
  /** Nothing comes down before this moment; 0 when there was no burst. */
  readonly burstUntilSeconds: number
}

/** Peaks in one hold: a hold of 90 s is kept to 1.5 s, one of an hour to a minute. */
const peaksPerHold = 60
/** Peaks kept at most. More than one hold has come about only while the hold itself changes, as start-up times do. */
const peaksMax = 2 * peaksPerHold

/**
 * The peaks with this look added and those older than the hold dropped. A peak speaks for a sixtieth of the hold, so
 * that few are kept; what is lower meanwhile is not recorded, which holds a little too long rather than too short.
 */
export function rememberPeak(
  peaks: readonly Peak[],
  nowSeconds: number,
  replicas: number,
  stabilizationWindowSeconds: number,
): Peak[] {
  const kept = peaks.filter(
    (peak) => peak.replicas > replicas && peak.untilSeconds > nowSeconds - stabilizationWindowSeconds,
  )
  const newest = kept.at(-1)
  if (newest && newest.untilSeconds > nowSeconds) return kept
  return dropOverflow([...kept, { untilSeconds: nowSeconds + stabilizationWindowSeconds / peaksPerHold, replicas }])
}

/** The second oldest is the one to go, and the oldest, which is higher, speaks for its time as well. */
function dropOverflow(peaks: Peak[]): Peak[] {
  const [oldest, second] = peaks
  if (peaks.length <= peaksMax || !oldest || !second) return peaks
  return [{ ...oldest, untilSeconds: second.untilSeconds }, ...peaks.slice(2)]
}

/** The most that any look of the hold wanted. */
export const highestPeak = (peaks: readonly Peak[]): number => peaks[0]?.replicas ?? 0
