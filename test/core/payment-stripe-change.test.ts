// An upgrade at Stripe while a downgrade is planned. The fake keeps one subscription like Stripe: a failed charge
// changes nothing, and the unused rest is credited by the billing mode.
import { ChargeFailed } from '@matte/people/payment/provider/provider-errors'
import { stripeProvider } from '@matte/people/payment/provider/stripe/stripe-provider'
import { describe, expect, it } from 'vitest'
import { useFakeStripe } from './fake-stripe.ts'

const fake = useFakeStripe()
const provider = () => stripeProvider({ secretKey: 'sk_test_x', webhookSecret: 'whsec_x', apiBase: fake.origin() })
const metadata = { matte_order_id: '8c1c3f0e-5f0b-4a77-9a44-2f8f3a1d9b10' }
const month = { interval: 'month', currency: 'USD' } as const
const pro = { ...month, plan: 'pro', amount: 2_900 }
const business = { ...month, plan: 'business', amount: 19_900 }
const enterprise = { ...month, plan: 'enterprise', amount: 79_900 }
const amounts: Readonly<Record<string, number>> = { price_pro: 2_900, price_business: 19_900, price_enterprise: 79_900 }
const start = Math.floor(Date.now() / 1_000) - 10 * 24 * 60 * 60
const end = start + 30 * 24 * 60 * 60

type Mode = 'classic' | 'flexible'
type Body = Record<string, string>

const restOf = (price: string, at: number) => Math.floor(((amounts[price] ?? 0) * (end - at)) / (end - start))

const line = (amount: number, { price, at }: { price: string; at: number }, more: object = {}) => ({
  ...{ amount, period: { start: at, end }, pricing: { price_details: { price } }, metadata: {} },
  ...{ parent: { subscription_item_details: { proration: true } }, ...more },
})

const invoiceOf = (lines: readonly { amount: number }[]) => ({
  ...{ id: 'in_2', billing_reason: 'subscription_update', status: 'paid', currency: 'usd', total_taxes: [] },
  total: lines.reduce((sum, { amount }) => sum + amount, 0),
  status_transitions: { paid_at: start + 1 },
  parent: { subscription_details: { subscription: 'sub_1', metadata } },
  lines: { data: lines },
  payments: { data: [{ status: 'paid', payment: { payment_intent: 'pi_2' } }] },
})

const priceOf = (plan: string) => ({
  json: { id: `price_${plan}`, product: `prod_${plan}`, metadata: { matte_plan: plan, matte_interval: 'month' } },
})

/** A paid Business subscription; `declines` applies to the next charge. */
function givenSubscription({ mode, declines }: { mode: Mode; declines: boolean }) {
  const state = { price: 'price_business', invoice: null as object | null }
  const subscription = () => ({
    ...{ id: 'sub_1', object: 'subscription', status: 'active', metadata, latest_invoice: state.invoice },
    ...{ cancel_at: null, cancel_at_period_end: false, ended_at: null },
    items: { data: [{ id: 'si_1', price: { id: state.price }, current_period_start: start, current_period_end: end }] },
  })
  const prorations = (to: string, at: number) => {
    const credited = mode === 'classic' ? state.price : 'price_business'
    return [line(-restOf(credited, at), { price: credited, at }), line(restOf(to, at), { price: to, at })]
  }
  const update = (body: Body) => {
    const price = body['items[0][price]'] ?? ''
    if (body.proration_behavior === 'none') {
      state.price = price
      return { json: subscription() }
    }
    const error = { type: 'card_error', message: 'Your card was declined.' }
    if (declines) return { status: 402, json: { error } }
    const at = Number(body.proration_date ?? Math.floor(Date.now() / 1_000))
    const extra = body['add_invoice_items[0][price_data][unit_amount]']
    const plan = body['add_invoice_items[0][metadata][matte_unused_plan]']
    const added = { parent: { invoice_item_details: { proration: false } }, metadata: { matte_unused_plan: plan } }
    const corrections = extra === undefined ? [] : [line(Number(extra), { price: 'price_adhoc', at }, added)]
    state.invoice = invoiceOf([...prorations(price, at), ...corrections])
    state.price = price
    return { json: subscription() }
  }
  fake.answers = {
    'GET /v1/prices': () => ({ json: { object: 'list', data: [] } }),
    'POST /v1/prices': (body) => ({ json: { id: `price_${body['metadata[matte_plan]']}` } }),
    'GET /v1/prices/price_pro': priceOf('pro'),
    'GET /v1/prices/price_business': priceOf('business'),
    'GET /v1/prices/price_enterprise': priceOf('enterprise'),
    'GET /v1/prices/price_adhoc': { json: { id: 'price_adhoc', metadata: {} } },
    'GET /v1/subscriptions/sub_1': () => ({ json: subscription() }),
    'POST /v1/subscriptions/sub_1': update,
    'POST /v1/invoices/create_preview': (body) => ({
      json: invoiceOf(
        prorations(
          body['subscription_details[items][0][price]'] ?? '',
          Number(body['subscription_details[proration_date]']),
        ),
      ),
    }),
  }
}

const plan = (when: 'now' | 'renewal', to: typeof pro) =>
  provider().changeSubscription({ subscriptionId: 'sub_1', from: business, to, when })
const subscription = async () => (await provider().read({ kind: 'subscription', id: 'sub_1' }))?.subscription

describe('an upgrade at Stripe while a downgrade is planned', () => {
  it('whose charge fails keeps the planned downgrade', async () => {
    givenSubscription({ mode: 'classic', declines: true })
    await plan('renewal', pro)
    expect(await subscription()).toMatchObject({ plan: 'pro' })
    await expect(plan('now', enterprise)).rejects.toThrow(ChargeFailed)
    expect(await subscription()).toMatchObject({ plan: 'pro' })
  })

  it.each(['classic', 'flexible'] as const)('credits the paid rest, in the billing mode %s', async (mode) => {
    givenSubscription({ mode, declines: false })
    await plan('renewal', pro)
    const { subscription: changed, invoice } = await plan('now', enterprise)
    expect(changed).toMatchObject({ plan: 'enterprise' })
    const at = (invoice?.bought.startsAt.getTime() ?? 0) / 1_000
    expect(invoice?.amount).toBe(restOf('price_enterprise', at) - restOf('price_business', at))
    expect(invoice?.bought).toMatchObject({ plan: 'enterprise', endsAt: new Date(end * 1_000) })
    expect(invoice?.unused).toEqual({ plan: 'business', endsAt: new Date(end * 1_000) })
  })
})
