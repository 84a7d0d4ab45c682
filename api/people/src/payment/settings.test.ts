import { parseEnv } from '@matte/core/runtime/env'
import { defaultPlans } from '@matte/core/workspace/plan'
import { describe, expect, it } from 'vitest'
import { parsePacks, parsePlanPrices } from './prices.ts'
import { checkPayments, paymentSettings } from './settings.ts'

const check = (env: Record<string, string>, environment: 'development' | 'production', accountsEnabled = true) =>
  checkPayments(parseEnv(paymentSettings, env), { environment, plans: defaultPlans, accountsEnabled })

describe('the payment provider', () => {
  it('is the sandbox in development and none in production', () => {
    expect(check({}, 'development')).toBe('sandbox')
    expect(check({}, 'production')).toBe('none')
  })

  it('is none without accounts; any other is rejected', () => {
    expect(check({}, 'development', false)).toBe('none')
    expect(() => check({ PAYMENTS_PROVIDER: 'sandbox' }, 'development', false)).toThrow('ACCOUNTS_ENABLED is false')
  })

  it('is the sandbox in production only if both settings allow it', () => {
    const sandbox = { PAYMENTS_PROVIDER: 'sandbox' }
    expect(() => check(sandbox, 'production')).toThrow('PAYMENTS_ALLOW_SANDBOX_IN_PRODUCTION')
    expect(check({ ...sandbox, PAYMENTS_ALLOW_SANDBOX_IN_PRODUCTION: 'true' }, 'production')).toBe('sandbox')
  })

  it('needs both secrets of Stripe', () => {
    const stripe = { PAYMENTS_PROVIDER: 'stripe', STRIPE_SECRET_KEY: 'sk' }
    expect(() => check(stripe, 'production')).toThrow('STRIPE_WEBHOOK_SECRET')
    expect(check({ ...stripe, STRIPE_WEBHOOK_SECRET: 'whsec' }, 'production')).toBe('stripe')
  })

  it('rejects prices that Stripe cannot charge exactly, with Stripe only', () => {
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

  it('rejects unknown plans', () => {
    const prices = JSON.stringify([{ plan: 'gold', interval: 'month', amount: 1, currency: 'USD' }])
    expect(() => check({ PLAN_PRICES: prices }, 'production')).toThrow('plan gold is not in PLANS')
  })
})

const pack = { id: 'a', name: 'A', credits: 1, amount: 1, currency: 'EUR' }

describe('packs and prices', () => {
  it('are parsed', () => {
    expect(parsePacks([pack])).toEqual([{ ...pack, expiresAfterDays: null }])
  })

  it.each([
    ['amount', { amount: 1.5 }],
    ['amount', { amount: 0 }],
    ['currency', { currency: 'euro' }],
    ['credits', { credits: -1 }],
    ['expiresAfterDays', { expiresAfterDays: 0 }],
    ['name', { name: '' }],
  ])('are rejected for an invalid %s', (field, change) => {
    expect(() => parsePacks([{ ...pack, ...change }])).toThrow(`entry 0: ${field}`)
  })

  it('are rejected if one is listed twice, or with two currencies', () => {
    expect(() => parsePacks([pack, pack])).toThrow('a is listed twice')
    const price = { plan: 'pro', interval: 'month', amount: 1, currency: 'EUR' }
    expect(() => parsePlanPrices([price, { ...price, interval: 'year', currency: 'USD' }])).toThrow('same currency')
  })
})
