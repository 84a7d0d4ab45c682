import { defaultPlans } from '@matte/core/workspace/plan'
import { describe, expect, it } from 'vitest'
import { addMonths } from '../provider/arithmetic.ts'
import { creditsForRefund, type Refundable, refundableAmount } from './refund-share.ts'
import { creditsOf, monthsOf } from './windows.ts'

/** Deterministic random numbers, mostly small. */
function numbersFrom(seed: number): (max: number) => number {
  let state = seed
  return (max) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) ** 3 * (max + 1))
  }
}

describe('shares of a refund', () => {
  it('take no more credits than are left, and add up to the total', () => {
    const next = numbersFrom(1)
    for (let round = 0; round < 2_000; round++) {
      const [amount, credits] = [1 + next(1e8), 1 + next(1e8)]
      const spent = round % 3 === 0 ? 0 : next(credits)
      const left = credits - spent
      let state: Refundable = { amount, credits, refundedAmount: 0, refundedCredits: 0, available: left }
      for (const wanted of [next(amount), next(amount), next(amount), Number.MAX_SAFE_INTEGER]) {
        const money = Math.min(wanted, refundableAmount(state))
        const taken = creditsForRefund(state, money)
        expect(taken).toBeLessThanOrEqual(state.available)
        state = {
          ...state,
          refundedAmount: state.refundedAmount + money,
          refundedCredits: state.refundedCredits + taken,
          available: state.available - taken,
        }
      }
      // Kept credits are never refunded; without spending, the refund is complete.
      expect(BigInt(state.refundedAmount) * BigInt(credits)).toBeLessThanOrEqual(BigInt(left) * BigInt(amount))
      if (spent === 0) expect(state.refundedAmount).toBe(amount)
    }
  })
})

describe('months', () => {
  const at = (text: string): Date => new Date(`${text}T12:00:00Z`)

  it('end on the last day of a shorter month', () => {
    expect(addMonths(at('2027-01-31'), 1)).toEqual(at('2027-02-28'))
    expect(addMonths(at('2027-03-31'), -1)).toEqual(at('2027-02-28'))
    expect(addMonths(at('2027-12-15'), 2)).toEqual(at('2028-02-15'))
  })

  it('divide a year into twelve without a gap', () => {
    const months = monthsOf({ startsAt: at('2027-01-31'), endsAt: at('2028-01-31') })
    expect(months).toHaveLength(12)
    for (const [index, { start }] of months.entries()) expect(start).toEqual(months[index - 1]?.end ?? at('2027-01-31'))
  })

  it('of a plan change buy the difference for the rest of the period', () => {
    const [startsAt, endsAt] = [at('2027-04-16'), at('2027-05-01')]
    const bought = { plan: 'business', interval: 'month', startsAt, endsAt, unused: { plan: 'pro', endsAt } } as const
    expect(creditsOf(bought, defaultPlans)).toMatchObject({ first: 4_500, total: 4_500, nextAt: null })
    const whole = { ...bought, startsAt: at('2027-04-01'), unused: null }
    expect(creditsOf(whole, defaultPlans)).toMatchObject({ first: 10_000, nextAt: null })
  })
})
