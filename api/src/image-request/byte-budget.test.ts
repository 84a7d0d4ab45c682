import { describe, expect, it } from 'vitest'
import { byteBudget } from './byte-budget.ts'

const refusal = expect.objectContaining({ code: 'RATE_LIMIT_EXCEEDED', details: { limit: 'capacity' } })

describe('the budget of bytes', () => {
  it('gives one workspace half, except to its only request', () => {
    const budget = byteBudget(100)
    budget.hold('a').add(80)
    expect(() => budget.hold('a').add(1)).toThrow(refusal)
    const other = budget.hold('b')
    expect(() => other.add(21)).toThrow(refusal)
    other.add(20)
  })

  it('counts bytes as they are added, so a request that has sent none takes none', () => {
    const budget = byteBudget(100)
    const [first, second] = [budget.hold('a'), budget.hold('a')]
    first.add(25)
    second.add(25)
    expect(() => second.add(1)).toThrow(refusal)
    budget.hold('b').add(50)
  })

  it('admits a request above it while there is no other', () => {
    const budget = byteBudget(100)
    const large = budget.hold('a')
    large.add(60)
    large.add(60)
    expect(() => budget.hold('b').add(1)).toThrow(refusal)
    large[Symbol.dispose]()
    budget.hold('b').add(100)
  })
})
