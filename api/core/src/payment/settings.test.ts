import { describe, expect, it } from 'vitest'
import { parseEnv } from '../runtime/env.ts'
import { defaultPlans } from '../workspace/plan.ts'
import { parsePacks, parsePlanPrices } from './prices.ts'
import { checkPayments, paymentSettings } from './settings.ts'

const check = (env: Record<string, string>, environment: 'development' | 'production') =>
  checkPayments(parseEnv(paymentSettings, env), { environment, plans: defaultPlans })

describe('the payment provider', () => {
  it('is the sandbox in development and none in production', () => {
    expect(check({}, 'development')).toBe('sandbox')
    expect(check({}, 'production')).toBe('none')
  })

  it('is the sandbox in production only when that is said twice', () => {
    const sandbox = { PAYMENTS_PROVIDER: 'sandbox' }
    expect(() => check(sandbox, 'production')).toThrow('PAYMENTS_ALLOW_SANDBOX_IN_PRODUCTION')
    expect(check({ ...sandbox, PAYMENTS_ALLOW_SANDBOX_IN_PRODUCTION: 'true' }, 'production')).toBe('sandbox')
  })

  it('needs both secrets of Stripe', () => {
    const stripe = { PAYMENTS_PROVIDER: 'stripe', STRIPE_SECRET_KEY: 'sk' }
    expect(() => check(stripe, 'production')).toThrow('STRIPE_WEBHOOK_SECRET')
    expect(check({ ...stripe, STRIPE_WEBHOOK_SECRET: 'whsec' }, 'production')).toBe('stripe')
  })

  it('refuses prices that Stripe cannot charge exactly, and only there', () => {
    const stripe = { PAYMENTS_PROVIDER: 'stripe', STRIPE_SECRET_KEY: 'sk', STRIPE_WEBHOOK_SECRET: 'whsec' }
    const sold = (currency: string, amount = 900) => ({
      PLAN_PRICES: '[]',
      CREDIT_PACKS: JSON.stringify([{ id: 'a', name: 'A', credits: 1, amount, currency }]),
    })
    for (const currency of ['USD', 'JPY', 'KRW', 'ISK', 'UGX', 'HUF', 'TWD']) {
      expect(check({ ...stripe, ...sold(currency) }, 'production')).toBe('stripe')
    }
    for (const currency of ['KWD', 'BHD', 'TND', 'MGA']) {
      const because = `CREDIT_PACKS: ${currency} cannot be charged exactly at Stripe`
      expect(() => check({ ...stripe, ...sold(currency) }, 'production')).toThrow(because)
      expect(check(sold(currency), 'development')).toBe('sandbox')
    }
    expect(() => check({ ...stripe, ...sold('ISK', 1_000_000) }, 'production')).toThrow('more than Stripe charges')
  })

  it('sells plans that there are', () => {
    const prices = JSON.stringify([{ plan: 'gold', interval: 'month', amount: 1, currency: 'USD' }])
    expect(() => check({ PLAN_PRICES: prices }, 'production')).toThrow('plan gold is not in PLANS')
  })
})

const pack = { id: 'a', name: 'A', credits: 1, amount: 1, currency: 'EUR' }

describe('packs and prices', () => {
  it('are read', () => {
    expect(parsePacks([pack])).toEqual([{ ...pack, expiresAfterDays: null }])
  })

  it.each([
    ['amount', { amount: 1.5 }],
    ['amount', { amount: 0 }],
    ['currency', { currency: 'euro' }],
    ['credits', { credits: -1 }],
    ['expiresAfterDays', { expiresAfterDays: 0 }],
    ['name', { name: '' }],
  ])('are refused for a wrong %s', (field, change) => {
    expect(() => parsePacks([{ ...pack, ...change }])).toThrow(`entry 0: ${field}`)
  })

  it('are refused when one is there twice, or two currencies are', () => {
    expect(() => parsePacks([pack, pack])).toThrow('a is there twice')
    const price = { plan: 'pro', interval: 'month', amount: 1, currency: 'EUR' }
    expect(() => parsePlanPrices([price, { ...price, interval: 'year', currency: 'USD' }])).toThrow('one currency')
  })
})
