import { describe, expect, it } from 'vitest'
import { bucketOf, emptyBuckets, latencyBoundsSeconds, latencyQuantile, shareSlowerThan } from './latency.ts'

/** Buckets with these latencies in them. */
function counted(...latencies: number[]): number[] {
  const buckets = emptyBuckets()
  for (const seconds of latencies) buckets[bucketOf(seconds)] = (buckets[bucketOf(seconds)] ?? 0) + 1
  return buckets
}

describe('bucketOf', () => {
  it.each([
    [0, 0],
    [0.25, 0],
    [0.251, 1],
    [1, 2],
    [60, 9],
    [60.001, 10],
    [Number.POSITIVE_INFINITY, 10],
  ])('puts %d s into bucket %i', (seconds, index) => {
    expect(bucketOf(seconds)).toBe(index)
  })

  it('has a bucket for each bound and one more', () => {
    expect(emptyBuckets()).toHaveLength(latencyBoundsSeconds.length + 1)
  })
})

describe('latencyQuantile', () => {
  it('is undefined without counts', () => {
    expect(latencyQuantile(emptyBuckets(), 0.95)).toBeUndefined()
  })

  // Worked out by hand from the rule of histogram_quantile.
  it.each([
    ['the middle of the only bucket', [0, 0, 10], 0.5, 0.75],
    ['the end of the only bucket', [0, 0, 10], 1, 1],
    ['the first bucket from zero up', [100], 0.95, 0.2375],
    ['a bucket after others', [0, 90, 10], 0.95, 0.75],
    ['the exact edge of two', [50, 50], 0.5, 0.25],
    ['over empty buckets', [95, 0, 0, 0, 0, 0, 0, 5], 0.96, 6],
    ['the edge before empty buckets', [95, 0, 0, 0, 0, 0, 0, 5], 0.95, 0.25],
    ['the bucket without an upper bound', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7], 0.5, 60],
    ['the least, below which nothing lies', [0, 0, 10], 0, 0.5],
  ])('interpolates %s', (_what, counts, quantile, expected) => {
    const buckets = emptyBuckets().map((_zero, index) => counts[index] ?? 0)
    expect(latencyQuantile(buckets, quantile)).toBeCloseTo(expected, 10)
  })
})

describe('shareSlowerThan', () => {
  it('is undefined without counts', () => {
    expect(shareSlowerThan(emptyBuckets(), 2)).toBeUndefined()
  })

  it.each([
    [2, 0.5],
    [0, 1],
    [0.125, 0.875],
    [10, 0.25],
    [20, 0.25],
    [60, 0.25],
    [90, 0.25],
  ])('returns the share slower than %d s', (seconds, expected) => {
    expect(shareSlowerThan(counted(0.1, 1.9, 4, 100), seconds)).toBeCloseTo(expected, 10)
  })
})
