// Prices are found by a lookup key that contains the amount, so existing subscriptions keep their price.
import type Stripe from 'stripe'
import type { PricedPlan } from '../provider.ts'
import { toStripeAmount } from './stripe-amount.ts'
import { callStripe } from './stripe-client.ts'

type PlanOfPrice = Pick<PricedPlan, 'plan' | 'interval'>

export type StripePrices = {
  idOf(priced: PricedPlan): Promise<string>
  planOf(priceId: string): Promise<PlanOfPrice | undefined>
}

export function stripePrices(stripe: Stripe): StripePrices {
  const ids = new Map<string, string>()
  const plans = new Map<string, PlanOfPrice | undefined>()

  async function idOf(priced: PricedPlan): Promise<string> {
    const { plan, interval, currency } = priced
    const key = `matte_${plan}_${interval}_${toStripeAmount(priced.amount, currency)}_${currency.toLowerCase()}`
    const known = ids.get(key) ?? (await find(key)) ?? (await make(key, priced))
    ids.set(key, known)
    return known
  }

  async function find(key: string): Promise<string | undefined> {
    const { data } = await callStripe(stripe.prices.list({ lookup_keys: [key], active: true, limit: 1 }))
    return data[0]?.id
  }

  async function make(key: string, { plan, interval, amount, currency }: PricedPlan): Promise<string> {
    const { id } = await callStripe(
      stripe.prices.create(
        {
          currency: currency.toLowerCase(),
          unit_amount: toStripeAmount(amount, currency),
          recurring: { interval },
          lookup_key: key,
          metadata: { matte_plan: plan, matte_interval: interval },
          product_data: { name: `Matte ${plan}` },
        },
        { idempotencyKey: `price:${key}` },
      ),
    )
    return id
  }

  async function planOf(priceId: string): Promise<PlanOfPrice | undefined> {
    if (!plans.has(priceId)) {
      const { metadata } = await callStripe(stripe.prices.retrieve(priceId))
      const { matte_plan: plan, matte_interval: interval } = metadata
      plans.set(priceId, plan && (interval === 'month' || interval === 'year') ? { plan, interval } : undefined)
    }
    return plans.get(priceId)
  }

  return { idOf, planOf }
}
