import { describe, expect, it } from 'vitest'
import { findBreach, type RequestCounts } from './gate.ts'

const gate = { readySeconds: 600, maxErrorRate: 0.02, maxLatencyRatio: 1.5, minRequests: 50, idle: 'wait' } as const
const did = (done: number, failed = 0, serviceSeconds = 0.5): RequestCounts => ({
  done,
  failed,
  timedOut: 0,
  serviceSeconds,
})
const breach = (canary: RequestCounts, stable: RequestCounts = did(1_000)) =>
  findBreach({ canary, stable, gate })?.reason

describe('findBreach', () => {
  it.each([
    ['no requests', did(0), undefined],
    ['one failure of few', did(0, 1), undefined],
    ['as many failures as allowed', did(49, 1), undefined],
    ['more failures than minRequests allows', did(0, 2), 'CanaryErrorRate'],
    ['two of a hundred', did(98, 2), undefined],
    ['three of a hundred', did(97, 3), 'CanaryErrorRate'],
  ])('judges errors: %s', (_what, canary, expected) => {
    expect(breach(canary)).toBe(expected)
  })

  it('counts time-outs as errors', () => {
    expect(breach({ ...did(0), timedOut: 5 })).toBe('CanaryErrorRate')
  })

  it('does not blame the new revision for failures that the old one has as well', () => {
    expect(breach(did(90, 10), did(900, 100))).toBeUndefined()
    expect(breach(did(89, 11), did(900, 100))).toBe('CanaryErrorRate')
  })

  it.each([
    ['as fast', did(50, 0, 0.5), undefined],
    ['slower within the limit', did(50, 0, 0.75), undefined],
    ['too slow', did(50, 0, 0.76), 'CanaryLatency'],
    ['too slow with too few requests', did(49, 0, 5), undefined],
  ])('compares the time of a request: %s', (_what, canary, expected) => {
    expect(breach(canary)).toBe(expected)
  })

  it('does not compare with an old revision without requests', () => {
    expect(findBreach({ canary: did(500, 0, 9), stable: undefined, gate })).toBeUndefined()
  })
})
