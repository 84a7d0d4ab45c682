/** `replicas` were wanted until `untilSeconds`, and fewer since. */
export type Peak = { readonly untilSeconds: number; readonly replicas: number }

export type ScaleMemory = {
  /** In descending order; each applies once the one before has expired. */
  readonly peaks: readonly Peak[]
  readonly burstUntilSeconds: number
}

/** Peaks per window: a window of 90 s is exact to 1.5 s, one of an hour to a minute. */
const peaksPerWindow = 60
const peaksMax = 2 * peaksPerWindow

/** Lower values within a sixtieth of the window are not recorded, so pods stay slightly too long at most. */
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

/** Drops the second oldest; the oldest is higher and covers its time. */
function dropOverflow(peaks: Peak[]): Peak[] {
  const [oldest, second] = peaks
  if (peaks.length <= peaksMax || !oldest || !second) return peaks
  return [{ ...oldest, untilSeconds: second.untilSeconds }, ...peaks.slice(2)]
}

export const highestPeak = (peaks: readonly Peak[]): number => peaks[0]?.replicas ?? 0
