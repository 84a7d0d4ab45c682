// Latencies as bucket counts, which can be added over replicas and time.

/** Inclusive upper bounds in seconds; one more bucket follows the last. */
export const latencyBoundsSeconds = [0.25, 0.5, 1, 1.5, 2, 3, 5, 10, 30, 60] as const

type Bounds = readonly number[]

/** Count per bucket, not cumulative: one value more than there are bounds. */
export type LatencyBuckets = readonly number[]

export const emptyBuckets = (bounds: Bounds = latencyBoundsSeconds): number[] =>
  Array.from({ length: bounds.length + 1 }, () => 0)

export function bucketOf(seconds: number, bounds: Bounds = latencyBoundsSeconds): number {
  const index = bounds.findIndex((bound) => seconds <= bound)
  return index < 0 ? bounds.length : index
}

/** Latency in seconds at `quantile` (0 to 1), interpolated; at most the last bound. Undefined without counts. */
export function latencyQuantile(
  buckets: LatencyBuckets,
  quantile: number,
  bounds: Bounds = latencyBoundsSeconds,
): number | undefined {
  const total = sum(buckets)
  if (total === 0) return undefined
  const rank = quantile * total
  let below = 0
  for (const [index, bound] of bounds.entries()) {
    const count = buckets[index] ?? 0
    if (count > 0 && below + count >= rank) {
      const lower = bounds[index - 1] ?? 0
      return lower + (bound - lower) * ((rank - below) / count)
    }
    below += count
  }
  return bounds.at(-1)
}

/** Share (0 to 1) above `seconds`, interpolated. Undefined without counts. */
export function shareSlowerThan(buckets: LatencyBuckets, seconds: number): number | undefined {
  const total = sum(buckets)
  if (total === 0) return undefined
  const index = bucketOf(seconds)
  const count = buckets[index] ?? 0
  const bound = latencyBoundsSeconds[index]
  const lower = latencyBoundsSeconds[index - 1] ?? 0
  // Latencies above the last bound all count as slower.
  const within = bound === undefined ? count : (count * (bound - seconds)) / (bound - lower)
  return (within + sum(buckets.slice(index + 1))) / total
}

const sum = (counts: LatencyBuckets): number => counts.reduce((total, count) => total + count, 0)
