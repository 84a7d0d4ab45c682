import { describe, expect, it } from 'vitest'
import { countTurn, isCanarysTurn, keepSharesOf, type OwedShares } from './canary-share.ts'
import type { Pod } from './pod-source.ts'

const canary = (weight: number, changes: Partial<Pod> = {}): Pod =>
  ({ pool: 'standard', tritonModel: 'u2netp', revision: 'new', role: 'canary', weight, ...changes }) as Pod

/** Whose turn each of so many requests was; the canary takes each of its turns while it has a free slot. */
function turns(owed: OwedShares, weight: number, count: number, hasFreeSlot = true): boolean[] {
  return Array.from({ length: count }, () => {
    const taken = isCanarysTurn(owed, canary(weight)) && hasFreeSlot
    countTurn(owed, canary(weight), taken)
    return taken
  })
}

describe('the turn of a canary', () => {
  it.each([0, 1, 33, 50, 99, 100])('comes %d times in a hundred requests', (weight) => {
    expect(turns(new Map(), weight, 100).filter(Boolean)).toHaveLength(weight)
  })

  it('comes first when the share has added up', () => {
    expect(turns(new Map(), 25, 8)).toEqual([false, false, false, true, false, false, false, true])
  })

  it('is kept for once, and no more, while the canary has no free slot', () => {
    const owed: OwedShares = new Map()
    turns(owed, 50, 100, false)
    expect(turns(owed, 50, 6)).toEqual([true, true, false, true, false, true])
  })

  it('is counted for each model by itself, and forgotten with the canary', () => {
    const owed: OwedShares = new Map()
    const [fast, fine] = [canary(60), canary(60, { tritonModel: 'isnet' })]
    countTurn(owed, fast, false)
    expect([isCanarysTurn(owed, fast), isCanarysTurn(owed, fine)]).toEqual([true, false])
    keepSharesOf(owed, [fast])
    expect(isCanarysTurn(owed, fast)).toBe(true)
    keepSharesOf(owed, [fine])
    expect(owed.size).toBe(0)
  })
})
