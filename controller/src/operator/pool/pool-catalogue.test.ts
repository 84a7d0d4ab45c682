import { describe, expect, it } from 'vitest'
import type { RolloutStatus } from './pool-status.ts'
import { poolCatalogue } from './served-pools.ts'
import { type TritonPool, withDefaults } from './triton-pool.ts'

const begun = Date.UTC(2026, 10, 21, 12)

const poolOf = (rollout?: Partial<RolloutStatus>): TritonPool => ({
  apiVersion: 'matte.dev/v1alpha1',
  kind: 'TritonPool',
  metadata: { name: 'standard' },
  spec: withDefaults({ models: [{ name: 'u2netp', modelVersion: 'fast', source: { imagePath: '/models' } }] }),
  ...(rollout && {
    status: { rollout: { stable: 'old', weight: 0, step: -1, since: new Date(begun).toISOString(), ...rollout } },
  }),
})

const askedOf = (pool: TritonPool, seconds: number) =>
  poolCatalogue({ items: () => [pool] }, { nowMs: () => begun + seconds * 1000, monotonicMs: () => 0 }).asked()[0]

describe('the demand window of a pool', () => {
  it('is the last minute without a canary', () => {
    expect(askedOf(poolOf(), 9)).toEqual({ pool: 'standard', modelVersions: ['fast'] })
    expect(askedOf(poolOf({}), 9)).not.toHaveProperty('revisionSeconds')
  })

  it.each([
    [0, 5],
    [20, 25],
    [9_000, 3_600],
    [-30, 5], // written by a leader with a fast clock
  ])('includes the whole step of a rollout: after %d s, %d s', (seconds, asked) => {
    expect(askedOf(poolOf({ canary: 'new' }), seconds)?.revisionSeconds).toBe(asked)
  })

  it('does not change when the wall clock jumps', () => {
    const clock = { nowMs: begun, monotonicMs: 0 }
    const clocks = { nowMs: () => clock.nowMs, monotonicMs: () => clock.monotonicMs }
    const catalogue = poolCatalogue({ items: () => [poolOf({ canary: 'new' })] }, clocks)
    catalogue.asked()
    Object.assign(clock, { nowMs: begun + 3_600_000, monotonicMs: 20_000 })
    expect(catalogue.asked()[0]?.revisionSeconds).toBe(25)
  })
})
