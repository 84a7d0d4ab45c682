// Latencies as counts in buckets: they can be added over replicas and time, which a mean or a percentile cannot.

/** Inclusive upper bounds of the buckets in seconds; one more bucket is above the last. */
export const latencyBoundsSeconds = [0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60] as const

/**
 * Counts of each bucket by itself, so not cumulative, in the order of the bounds: `latencyBoundsSeconds.length + 1`.
 */
export type LatencyBuckets = readonly number[]

export const emptyBuckets = (): number[] => Array.from({ length: latencyBoundsSeconds.length + 1 }, () => 0)

/** Index of the bucket that a latency of `seconds` belongs to. */
export function bucketOf(seconds: number): number {
  const index = latencyBoundsSeconds.findIndex((bound) => seconds <= bound)
  return index < 0 ? latencyBoundsSeconds.length : index
}

/**
 * The latency at `quantile` (0 to 1) in seconds, interpolated within its bucket like Prometheus' `histogram_quantile`.
 * Undefined: nothing was counted. The last bucket has no upper bound, so it gives 60.
 */
export function latencyQuantile(buckets: LatencyBuckets, quantile: number): number | undefined {
  const total = sum(buckets)
  if (total === 0) return undefined
  const rank = quantile * total
  let below = 0
  for (const [index, bound] of latencyBoundsSeconds.entries()) {
    const count = buckets[index] ?? 0
    if (count > 0 && below + count >= rank) {
      const lower = lowerBound(index)
      return lower + (bound - lower) * ((rank - below) / count)
    }
    below += count
  }
  return latencyBoundsSeconds.at(-1)
}

/** Share (0 to 1) that took longer than `seconds`, interpolated within its bucket. Undefined: nothing was counted. */
export function shareSlowerThan(buckets: LatencyBuckets, seconds: number): number | undefined {
  const total = sum(buckets)
  if (total === 0) return undefined
  const index = bucketOf(seconds)
  const count = buckets[index] ?? 0
  const bound = latencyBoundsSeconds[index]
  const lower = lowerBound(index)
  // Beyond the last bound the latencies are unknown: all of them count as slower.
  const within = bound === undefined ? count : (count * (bound - seconds)) / (bound - lower)
  return (within + sum(buckets.slice(index + 1))) / total
}

const lowerBound = (index: number): number => latencyBoundsSeconds[index - 1] ?? 0

const sum = (counts: LatencyBuckets): number => counts.reduce((total, count) => total + count, 0)
