import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { highestPeak, type Peak, rememberPeak } from './stabilization.ts'

describe('rememberPeak', () => {
  it('remembers the maximum of the window, up to a sixtieth longer', () => {
    const counts = fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 400 })
    fc.assert(
      fc.property(counts, fc.integer({ min: 1, max: 300 }), (wanted, stabilizationWindowSeconds) => {
        let peaks: readonly Peak[] = []
        wanted.forEach((replicas, now) => {
          peaks = rememberPeak(peaks, now, replicas, stabilizationWindowSeconds)
          const since = (seconds: number) => Math.max(...wanted.filter((_, at) => at <= now && at > now - seconds))
          const most = Math.max(highestPeak(peaks), replicas)
          expect(most).toBeGreaterThanOrEqual(since(stabilizationWindowSeconds))
          expect(most).toBeLessThanOrEqual(since(stabilizationWindowSeconds * (1 + 1 / 60)))
        })
      }),
    )
  })

  it('forgets late rather than early when its memory is full', () => {
    // The need falls while the window keeps growing tenfold, so nothing expires.
    const windows = [1, 10, 100, 1_000].flatMap((stabilizationWindowSeconds) =>
      Array<number>(40).fill(stabilizationWindowSeconds),
    )
    let peaks: readonly Peak[] = []
    let now = 0
    let wanted = 300
    for (const stabilizationWindowSeconds of windows) {
      now += stabilizationWindowSeconds / 55
      wanted -= 1
      const remembered = highestPeak(
        peaks.filter(({ untilSeconds }) => untilSeconds > now - stabilizationWindowSeconds),
      )
      peaks = rememberPeak(peaks, now, wanted, stabilizationWindowSeconds)
      expect(peaks.length).toBeLessThanOrEqual(120)
      expect(highestPeak(peaks)).toBeGreaterThanOrEqual(remembered)
    }
  })
})
