import type { Demand } from '@matte/core/scale/demand'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { boundsInForce } from './bounds.ts'
import { decideReplicas, startMemory } from './decide.ts'
import type { ScaleInput } from './decision.ts'
import { given, quiet } from './scale.fixtures.ts'

// Includes values that only a bug could cause: NaN, infinite, negative.
const anyValue = fc.oneof(
  fc.nat({ max: 5_000 }),
  fc.double({ min: 0, max: 1e12, noNaN: true }),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1, 0),
)
const anyDemand = fc.record({
  arrivals3s: anyValue,
  arrivals30s: anyValue,
  backlog: anyValue,
  batchSlots: anyValue,
  batchProcessing: anyValue,
  processing: anyValue,
  oldestSeconds: anyValue,
  serviceSeconds: fc.option(anyValue, { nil: undefined }),
  p95Seconds: fc.option(anyValue, { nil: undefined }),
  missedShare: fc.option(anyValue, { nil: undefined }),
})
const anyBound = fc.option(fc.nat({ max: 50 }), { nil: undefined })
const anySchedule = fc.record({ names: fc.constant(['a']), minReplicas: anyBound, maxReplicas: anyBound })
const anyScaling = fc.record({
  minReplicas: fc.nat({ max: 10 }),
  maxReplicas: fc.integer({ min: 10, max: 100 }),
  schedule: fc.option(
    anySchedule.map(({ minReplicas, maxReplicas, names }) => ({
      names,
      ...(minReplicas !== undefined && { minReplicas }),
      ...(maxReplicas !== undefined && { maxReplicas }),
    })),
    { nil: undefined },
  ),
  p95Seconds: fc.double({ min: 0.5, max: 600, noNaN: true }),
  utilization: fc.double({ min: 0.1, max: 1, noNaN: true }),
  panicWindowSeconds: fc.nat({ max: 600 }),
  stabilizationWindowSeconds: fc.option(fc.nat({ max: 86_400 }), { nil: undefined }),
  fallback: fc.record({ afterSeconds: fc.nat({ max: 3_600 }), replicas: fc.nat({ max: 10 }) }),
})
const anyInput: fc.Arbitrary<ScaleInput> = fc.record({
  nowSeconds: fc.nat({ max: 1_000_000 }),
  scaling: anyScaling,
  demand: fc.option(anyDemand, { nil: undefined }),
  demandAgeSeconds: anyValue,
  ledSeconds: anyValue,
  slotsPerPod: fc.oneof(fc.integer({ min: 1, max: 64 }), anyValue),
  pods: fc.record({
    current: fc.nat({ max: 100 }),
    ready: fc.nat({ max: 100 }),
    starting: fc.nat(),
    draining: fc.nat(),
  }),
  startSeconds: anyValue,
  memory: fc
    .record({ now: fc.nat({ max: 1_000_000 }), current: fc.nat({ max: 100 }) })
    .map(({ now, current }) => startMemory(now, current)),
})

describe('for any input, the decision', () => {
  it('is an integer within the bounds in force, with finite inputs', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const { replicas, inputs, sentence, memory } = decideReplicas(input)
        const { minReplicas, maxReplicas } = boundsInForce(input.scaling)
        expect(Number.isInteger(replicas)).toBe(true)
        expect(replicas).toBeGreaterThanOrEqual(minReplicas)
        expect(replicas).toBeLessThanOrEqual(maxReplicas)
        expect(Object.values(inputs).every(Number.isFinite)).toBe(true)
        expect(Object.keys(inputs).length).toBeLessThanOrEqual(32)
        expect(sentence).not.toMatch(/NaN|undefined|Infinity/)
        expect(JSON.parse(JSON.stringify(memory))).toEqual(memory)
      }),
    )
  })

  it('is the same for the same input, and does not change the input', () => {
    fc.assert(
      fc.property(anyInput, (input) => {
        const before = structuredClone(input)
        expect(decideReplicas(input)).toEqual(decideReplicas(before))
        expect(input).toEqual(before)
      }),
    )
  })

  it('never decreases with one more request', () => {
    const grow: readonly ((demand: Demand) => Demand)[] = [
      (demand) => ({ ...demand, arrivals3s: demand.arrivals3s + 1, arrivals30s: demand.arrivals30s + 1 }),
      (demand) => ({ ...demand, backlog: demand.backlog + 1 }),
      (demand) => ({ ...demand, batchSlots: demand.batchSlots + 1 }),
      (demand) => ({ ...demand, processing: demand.processing + 1 }),
    ]
    const counts = fc
      .record({ earlier: fc.nat({ max: 2_000 }), late: fc.nat({ max: 300 }), backlog: fc.nat({ max: 500 }) })
      .map(({ earlier, late, backlog }) => ({ ...quiet, arrivals3s: late, arrivals30s: late + earlier, backlog }))
    fc.assert(
      fc.property(counts, fc.constantFrom(...grow), fc.nat({ max: 40 }), (demand, more, ready) => {
        const answer = (asked: Demand) =>
          decideReplicas(given({ demand: asked, scaling: { maxReplicas: 1_000 }, pods: { current: 0, ready } }))
            .replicas
        expect(answer(more(demand))).toBeGreaterThanOrEqual(answer(demand))
      }),
    )
  })

  it('does not decrease in a burst or without demand, unless a bound requires it', () => {
    fc.assert(
      fc.property(anyInput, fc.nat({ max: 30 }), (input, late) => {
        const { maxReplicas } = boundsInForce(input.scaling)
        const burst = input.demand && { ...input.demand, arrivals3s: late + 10, arrivals30s: late + 10 }
        const panicWindowSeconds = input.scaling.panicWindowSeconds + 1
        const asked = { ...input, demand: burst, scaling: { ...input.scaling, panicWindowSeconds } }
        expect(decideReplicas(asked).replicas).toBeGreaterThanOrEqual(Math.min(input.pods.current, maxReplicas))
      }),
    )
  })

  it('keeps a bounded memory', () => {
    const decisions = fc.array(
      fc.record({
        step: fc.double({ min: 0, max: 20, noNaN: true }),
        start: fc.nat({ max: 600 }),
        arrivals: fc.nat({ max: 900 }),
      }),
      { minLength: 200, maxLength: 600 },
    )
    fc.assert(
      fc.property(decisions, (steps) => {
        let nowSeconds = 0
        let memory = startMemory(0, 0)
        for (const { step, start, arrivals } of steps) {
          nowSeconds += step
          const demand = { arrivals30s: arrivals, arrivals3s: arrivals / 10 }
          const asked = given({ nowSeconds, startSeconds: start, demand, memory, scaling: { maxReplicas: 1_000 } })
          memory = decideReplicas(asked).memory
          expect(memory.peaks.length).toBeLessThanOrEqual(120)
        }
      }),
      { numRuns: 20 },
    )
  })
})
