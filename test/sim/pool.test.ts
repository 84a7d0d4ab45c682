import { describe, expect, it } from 'vitest'
import { Pool } from './pool.ts'
import { exponential, random } from './random.ts'
import { makeTrace, type Trace } from './trace.ts'

/** Requests at these seconds, each of length `service`. */
function trace(arrivals: readonly number[], service: number, seconds = 60): Trace {
  return {
    name: 'step',
    seconds,
    rates: new Float64Array(seconds),
    arrivals: Float64Array.from(arrivals),
    services: new Float64Array(arrivals.length).fill(service),
    phase: 0,
  }
}

const advance = (pool: Pool, seconds: number): void => {
  for (let second = 0; second < seconds; second += 1) pool.advance()
}

describe('the simulated pool', () => {
  it('serves one request per pod, first come first served', () => {
    const pool = new Pool({ trace: trace([0.1, 0.2, 0.3], 2), startSeconds: 3, pods: 1 })
    pool.advance()
    expect(pool.view()).toMatchObject({ now: 1, waiting: 2, busy: 1, ready: 1 })
    advance(pool, 3)
    expect(pool.view()).toMatchObject({ now: 4, waiting: 1, busy: 1 })
  })

  it('counts a request that takes longer than two seconds as missed', () => {
    const pool = new Pool({ trace: trace([0, 0, 0], 0.8), startSeconds: 3, pods: 1 }) // ends at 0.8, 1.6 and 2.4
    advance(pool, 60)
    expect(pool.finish()).toMatchObject({ requests: 3, missed: 1 })
  })

  it('also counts requests that wait when the trace ends', () => {
    const pool = new Pool({ trace: trace([0, 59, 59], 5), startSeconds: 3, pods: 1 })
    advance(pool, 60)
    expect(pool.finish()).toEqual({ requests: 3, missed: 3, podSeconds: 60 })
  })

  it('makes pods ready after their start-up and pays for them from the time they were desired', () => {
    const pool = new Pool({ trace: trace([], 1), startSeconds: 20, pods: 1 })
    advance(pool, 10)
    pool.scaleTo(3)
    advance(pool, 19)
    expect(pool.view()).toMatchObject({ desired: 3, ready: 1 })
    pool.advance()
    expect(pool.view()).toMatchObject({ desired: 3, ready: 3 })
    advance(pool, 30)
    expect(pool.finish().podSeconds).toBe(60 + 2 * 50)
  })

  it('removes pods that start before idle ones, and these before busy ones, which finish', () => {
    const pool = new Pool({ trace: trace([9.5], 4), startSeconds: 20, pods: 2 })
    advance(pool, 10)
    pool.scaleTo(3)
    pool.scaleTo(2)
    expect(pool.view()).toMatchObject({ desired: 2, ready: 2, busy: 1 })
    pool.scaleTo(1)
    advance(pool, 1)
    pool.scaleTo(0)
    advance(pool, 49)
    expect(pool.finish().podSeconds).toBe(10 + 13.5)
  })

  it('computes means over time exactly', () => {
    const pool = new Pool({ trace: trace([1.5, 1.5], 1), startSeconds: 3, pods: 1 })
    advance(pool, 5)
    const { meanBusy, meanInPool, meanService, arrived } = pool.view()
    expect(meanBusy(0, 4)).toBeCloseTo(2 / 4) // from 1.5 to 3.5
    expect(meanInPool(0, 4)).toBeCloseTo(3 / 4) // one for a second, the other for two
    expect(meanInPool(2, 3)).toBeCloseTo(1.5)
    expect([meanService(60), meanService(1), arrived(3), arrived(4)]).toEqual([1, undefined, 0, 2])
  })

  it('waits as long as queueing theory predicts for one server', () => {
    const rate = 1.2
    const seconds = 40_000
    const next = random(5)
    const arrivals: number[] = []
    for (let at = exponential(1 / rate, next); at < seconds; at += exponential(1 / rate, next)) arrivals.push(at)
    const services = Float64Array.from(arrivals, () => 0.35 + 0.3 * next())
    const pool = new Pool({ trace: { ...trace(arrivals, 0, seconds), services }, startSeconds: 3, pods: 1 })
    advance(pool, seconds)
    // Pollaczek and Khinchine: mean wait λ·E[S²] ÷ 2(1 − ρ), with E[S²] = 0.5² × (1 + 0.3² ÷ 3).
    const wait = (rate * 0.25 * 1.03) / (2 * (1 - rate * 0.5))
    expect(pool.view().meanInPool(0, seconds)).toBeCloseTo(rate * (wait + 0.5), 1)
    expect(pool.view().meanBusy(0, seconds)).toBeCloseTo(rate * 0.5, 1)
  })
})

describe('a trace', () => {
  it('is the same for the same seed, and differs between seeds', () => {
    expect(makeTrace('bursts', 7).arrivals).toEqual(makeTrace('bursts', 7).arrivals)
    expect(makeTrace('bursts', 7).arrivals).not.toEqual(makeTrace('bursts', 8).arrivals)
  })

  it.each([
    ['step', 1_200 + 16 * 600],
    ['day', 8 * 3_600],
  ] as const)('has as many requests as its rates add up to: %s', (name, expected) => {
    const { arrivals } = makeTrace(name, 3)
    expect(Math.abs(arrivals.length - expected)).toBeLessThan(4 * Math.sqrt(expected))
    expect(arrivals).toEqual(arrivals.toSorted())
  })

  it('has service times of 0.5 s ± 30 %', () => {
    const { services } = makeTrace('day', 3)
    expect(Math.min(...services)).toBeGreaterThanOrEqual(0.35)
    expect(Math.max(...services)).toBeLessThanOrEqual(0.65)
    expect(services.reduce((sum, service) => sum + service, 0) / services.length).toBeCloseTo(0.5, 2)
  })
})
