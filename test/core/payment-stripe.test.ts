// Stripe without Stripe: a local server records our requests, and responses are objects in Stripe's form.
import { createHmac } from 'node:crypto'
import type { NewCheckout } from '@matte/people/payment/provider/provider'
import { ChargeFailed, ProviderUnavailable } from '@matte/people/payment/provider/provider-errors'
import { stripeProvider } from '@matte/people/payment/provider/stripe/stripe-provider'
import { describe, expect, it } from 'vitest'
import { useFakeStripe } from './fake-stripe.ts'

const webhookSecret = 'whsec_test'
const orderId = '8c1c3f0e-5f0b-4a77-9a44-2f8f3a1d9b10'
const fake = useFakeStripe()
const { sent } = fake

const provider = () => stripeProvider({ secretKey: 'sk_test_x', webhookSecret, apiBase: fake.origin() })
const pack: NewCheckout = {
  ...{ orderId, description: 'Small pack', amount: 900, currency: 'USD', email: 'a@example.com', subscription: null },
  returnUrl: 'https://app.example.com/billing',
}
const pro = { plan: 'pro', interval: 'month', amount: 2_900, currency: 'USD' } as const
const business = { plan: 'business', interval: 'month', amount: 19_900, currency: 'USD' } as const
const session = { id: 'cs_1', object: 'checkout.session', url: 'https://checkout.stripe.com/c/1' }
const metadata = { matte_order_id: orderId }
const prices = {
  'GET /v1/prices': { json: { object: 'list', data: [{ id: 'price_pro' }] } },
  'GET /v1/prices/price_pro': { json: { id: 'price_pro', metadata: { matte_plan: 'pro', matte_interval: 'month' } } },
  'GET /v1/prices/price_business': {
    json: { id: 'price_business', metadata: { matte_plan: 'business', matte_interval: 'month' } },
  },
}
const subscription = (price: string) => ({
  id: 'sub_1',
  object: 'subscription',
  status: 'active',
  metadata,
  cancel_at: null,
  cancel_at_period_end: false,
  ended_at: null,
  items: { data: [{ id: 'si_1', price: { id: price }, current_period_start: 1_000, current_period_end: 2_000 }] },
})

describe('a request to Stripe', () => {
  it('creates a checkout for one payment, the same one for the same order', async () => {
    fake.answers = { 'POST /v1/checkout/sessions': { json: session } }
    expect(await provider().createCheckout(pack)).toEqual({ id: 'cs_1', url: session.url })
    expect(sent).toEqual([
      {
        call: 'POST /v1/checkout/sessions',
        key: `checkout:${orderId}`,
        body: {
          mode: 'payment',
          client_reference_id: orderId,
          customer_email: 'a@example.com',
          success_url: pack.returnUrl,
          cancel_url: pack.returnUrl,
          'metadata[matte_order_id]': orderId,
          'payment_intent_data[metadata][matte_order_id]': orderId,
          'line_items[0][quantity]': '1',
          'line_items[0][price_data][currency]': 'usd',
          'line_items[0][price_data][unit_amount]': '900',
          'line_items[0][price_data][product_data][name]': 'Small pack',
        },
      },
    ])
  })

  it('creates one price per plan and finds it again', async () => {
    fake.answers = {
      'GET /v1/prices': { json: { object: 'list', data: [] } },
      'POST /v1/prices': { json: { id: 'price_pro' } },
      'POST /v1/checkout/sessions': { json: session },
    }
    const stripe = provider()
    await stripe.createCheckout({ ...pack, subscription: pro })
    await stripe.createCheckout({ ...pack, subscription: pro })
    expect(sent.map(({ call }) => call)).toEqual([
      ...['GET /v1/prices', 'POST /v1/prices', 'POST /v1/checkout/sessions', 'POST /v1/checkout/sessions'],
    ])
    expect(sent[1]).toMatchObject({
      key: 'price:matte_pro_month_2900_usd',
      body: { unit_amount: '2900', 'recurring[interval]': 'month', lookup_key: 'matte_pro_month_2900_usd' },
    })
    expect(sent[2]?.body).toMatchObject({
      mode: 'subscription',
      'line_items[0][price]': 'price_pro',
      'subscription_data[metadata][matte_order_id]': orderId,
    })
  })

  it('creates a refund under our id, unless it exists', async () => {
    const made = { id: 're_1', payment_intent: 'pi_1', status: 'succeeded', amount: 450, currency: 'usd' }
    fake.answers = {
      'GET /v1/refunds': { json: { object: 'list', data: [] } },
      'POST /v1/refunds': { json: { ...made, metadata: { matte_refund_id: 'r' } } },
    }
    const wanted = { refundId: 'r', paymentId: 'pi_1', amount: 450, currency: 'USD' }
    expect(await provider().refund(wanted)).toMatchObject({ id: 're_1', refundId: 'r', status: 'succeeded' })
    expect(sent[1]).toEqual({
      call: 'POST /v1/refunds',
      key: 'refund:r',
      body: { payment_intent: 'pi_1', amount: '450', 'metadata[matte_refund_id]': 'r' },
    })
    fake.answers['GET /v1/refunds'] = { json: { data: [{ ...made, metadata: { matte_refund_id: 'r' } }] } }
    sent.length = 0
    await provider().refund(wanted)
    expect(sent.map(({ call }) => call)).toEqual(['GET /v1/refunds'])
  })

  it('upgrades with the proration charged at once, or downgrades for the next period', async () => {
    fake.answers = {
      ...prices,
      'GET /v1/subscriptions/sub_1': { json: subscription('price_pro') },
      'POST /v1/subscriptions/sub_1': { json: { ...subscription('price_business'), latest_invoice: null } },
    }
    const change = { subscriptionId: 'sub_1', from: pro, to: business }
    await provider().changeSubscription({ ...change, when: 'now' })
    expect(sent.findLast(({ call }) => call.startsWith('POST'))?.body).toEqual({
      'items[0][id]': 'si_1',
      'items[0][price]': 'price_pro',
      proration_behavior: 'always_invoice',
      payment_behavior: 'error_if_incomplete',
      'expand[0]': 'latest_invoice.payments',
    })
    await provider().changeSubscription({ ...change, when: 'renewal' })
    expect(sent.findLast(({ call }) => call.startsWith('POST'))?.body).toMatchObject({ proration_behavior: 'none' })
    await provider().cancelSubscription('sub_1')
    expect(sent.findLast(({ call }) => call.startsWith('POST'))?.body).toEqual({ cancel_at_period_end: 'true' })
  })

  it('ends the subscription once and voids its open invoices', async () => {
    const open = { json: { object: 'list', data: [{ id: 'in_9' }] } }
    fake.answers = {
      ...prices,
      'GET /v1/subscriptions/sub_1': { json: { ...subscription('price_pro'), status: 'past_due' } },
      'DELETE /v1/subscriptions/sub_1': {
        json: { ...subscription('price_pro'), status: 'canceled', ended_at: 1_500 },
      },
      'GET /v1/invoices': open,
      'POST /v1/invoices/in_9/void': { json: { id: 'in_9' } },
    }
    const facts = await provider().endSubscription('sub_1')
    expect(facts.subscription).toMatchObject({ status: 'canceled', endedAt: new Date(1_500_000) })
    const calls = () => sent.map(({ call }) => call).filter((call) => !call.startsWith('GET'))
    expect(calls()).toEqual(['DELETE /v1/subscriptions/sub_1', 'POST /v1/invoices/in_9/void'])
    sent.length = 0
    const ended = fake.answers['DELETE /v1/subscriptions/sub_1']
    fake.answers = { ...fake.answers, ...(ended && { 'GET /v1/subscriptions/sub_1': ended }) }
    fake.answers['GET /v1/invoices'] = { json: { object: 'list', data: [] } }
    expect((await provider().endSubscription('sub_1')).subscription).toMatchObject({ status: 'canceled' })
    expect(calls()).toEqual([])
  })

  it('distinguishes a declined card from an outage', async () => {
    const declined = { error: { type: 'card_error', message: 'Your card was declined.' } }
    fake.answers = {
      ...prices,
      'GET /v1/subscriptions/sub_1': { json: subscription('price_pro') },
      'POST /v1/subscriptions/sub_1': { status: 402, json: declined },
      'POST /v1/checkout/sessions': { status: 500, json: { error: { type: 'api_error', message: 'x' } } },
    }
    const change = { subscriptionId: 'sub_1', from: pro, to: business, when: 'now' } as const
    await expect(provider().changeSubscription(change)).rejects.toThrow(ChargeFailed)
    await expect(provider().createCheckout(pack)).rejects.toThrow(ProviderUnavailable)
  })
})

describe('a response of Stripe', () => {
  it('gives a checkout and its outcome', async () => {
    const paid = {
      ...session,
      metadata,
      status: 'complete',
      payment_status: 'paid',
      amount_total: 900,
      currency: 'usd',
    }
    const payment_method_details = { type: 'card', card: { fingerprint: 'fp_1' } }
    const latest_charge = { id: 'ch_1', created: 1_700_000_000, payment_method_details }
    const payment_intent = { id: 'pi_1', latest_charge }
    fake.answers = {
      'GET /v1/checkout/sessions/cs_1': { json: { ...paid, payment_intent, total_details: { amount_tax: 0 } } },
    }
    const paidAt = new Date(1_700_000_000_000)
    const facts = await provider().getOrder('cs_1')
    expect(facts.fingerprint).toBe('fp_1')
    expect(facts.order).toEqual({
      ...{
        orderId,
        checkoutId: 'cs_1',
        status: 'paid',
        paymentId: 'pi_1',
        amount: 900,
        tax: 0,
        currency: 'USD',
        paidAt,
      },
    })
    fake.answers = { 'GET /v1/checkout/sessions/cs_1': { json: { ...session, metadata: {} } } }
    expect(await provider().getOrder('cs_1')).toEqual({})
  })

  it('gives the invoice of a change with purchased and unused parts', async () => {
    const line = (amount: number, price: string) => ({
      ...{ amount, period: { start: 1_500, end: 2_000 }, pricing: { price_details: { price } } },
    })
    const invoice = {
      id: 'in_1',
      billing_reason: 'subscription_update',
      status: 'paid',
      total: 8_500,
      currency: 'usd',
      total_taxes: [],
      status_transitions: { paid_at: 1_501 },
      parent: { subscription_details: { subscription: 'sub_1', metadata } },
      lines: { data: [line(-1_450, 'price_pro'), line(9_950, 'price_business')] },
      payments: { data: [{ status: 'paid', payment: { payment_intent: 'pi_2' } }] },
    }
    fake.answers = {
      ...prices,
      'GET /v1/invoices/in_1': { json: invoice },
      'GET /v1/subscriptions/sub_1': {
        json: { ...subscription('price_business'), default_payment_method: { card: { fingerprint: 'fp_2' } } },
      },
    }
    const facts = await provider().read({ kind: 'invoice', id: 'in_1' })
    const [startsAt, endsAt] = [new Date(1_500_000), new Date(2_000_000)]
    expect(facts).toMatchObject({
      fingerprint: 'fp_2',
      subscription: { id: 'sub_1', orderId, plan: 'business', interval: 'month', status: 'active' },
      invoice: { reason: 'change', status: 'paid', paymentId: 'pi_2', amount: 8_500, currency: 'USD' },
    })
    expect(facts?.invoice?.bought).toEqual({ plan: 'business', interval: 'month', startsAt, endsAt })
    expect(facts?.invoice?.unused).toEqual({ plan: 'pro', endsAt })
  })
})

describe('a Stripe event', () => {
  const body = JSON.stringify({
    ...{ id: 'evt_1', object: 'event', type: 'invoice.payment_failed', data: { object: { id: 'in_1' } } },
  })
  const signed = (timestamp: number, secret = webhookSecret) => {
    const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
    return { 'stripe-signature': `t=${timestamp},v1=${signature}` }
  }
  const now = () => Math.floor(Date.now() / 1_000)

  it('is accepted when signed over its raw body within 300 s', () => {
    expect(provider().verifyEvent(Buffer.from(body), signed(now() - 290))).toMatchObject({
      ...{ id: 'evt_1', about: { kind: 'invoice', id: 'in_1' }, failure: 'The charge failed.' },
    })
  })

  it.each([
    ['too old', () => signed(now() - 310)],
    ['signed with another secret', () => signed(now(), 'whsec_other')],
    ['not signed', () => ({})],
  ])('is rejected when it is %s', (_why, headers) => {
    expect(() => provider().verifyEvent(Buffer.from(body), headers())).toThrow(
      expect.objectContaining({ code: 'AUTH_INVALID_TOKEN' }),
    )
  })

  it('is rejected when another byte of it changed', () => {
    const changed = Buffer.from(body.replace('in_1', 'in_2'))
    expect(() => provider().verifyEvent(changed, signed(now()))).toThrow()
  })
})
