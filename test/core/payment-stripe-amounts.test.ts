// Amounts in currencies whose minor units at Stripe differ from ISO 4217, in requests and responses.
import { stripeProvider } from '@matte/people/payment/provider/stripe/stripe-provider'
import { describe, expect, it } from 'vitest'
import { useFakeStripe } from './fake-stripe.ts'

const fake = useFakeStripe()
const provider = () => stripeProvider({ secretKey: 'sk_test_x', webhookSecret: 'whsec', apiBase: fake.origin() })
const orderId = '8c1c3f0e-5f0b-4a77-9a44-2f8f3a1d9b10'
const session = { id: 'cs_1', object: 'checkout.session', url: 'https://checkout.stripe.com/c/1' }
const metadata = { matte_order_id: orderId }
const pro = { plan: 'pro', interval: 'month' } as const
const pack = {
  ...{ orderId, description: 'Small pack', email: 'a@example.com', subscription: null },
  returnUrl: 'https://app.example.com/billing',
}

describe('an amount', () => {
  // Our amount in minor units of ISO 4217, and Stripe's.
  it.each([
    ['USD', 900, 900],
    ['JPY', 900, 900],
    ['KRW', 9_000, 9_000],
    ['HUF', 90_000, 90_000],
    ['TWD', 9_000, 9_000],
    ['ISK', 900, 90_000],
    ['UGX', 9_000, 900_000],
  ])('of %s is %d here and %d at Stripe, both ways', async (currency, ours, theirs) => {
    const lower = currency.toLowerCase()
    const paid = { ...session, metadata, status: 'complete', payment_status: 'paid', payment_intent: 'pi_1' }
    const refunded = { id: 're_1', payment_intent: 'pi_1', status: 'succeeded', metadata: {} }
    fake.answers = {
      'POST /v1/checkout/sessions': { json: session },
      'GET /v1/checkout/sessions/cs_1': {
        json: { ...paid, amount_total: theirs, currency: lower, total_details: { amount_tax: theirs } },
      },
      'GET /v1/prices': { json: { object: 'list', data: [] } },
      'POST /v1/prices': { json: { id: 'price_pro' } },
      'GET /v1/refunds': { json: { object: 'list', data: [] } },
      'POST /v1/refunds': { json: { ...refunded, amount: theirs, currency: lower } },
    }
    const stripe = provider()
    await stripe.createCheckout({ ...pack, amount: ours, currency })
    await stripe.createCheckout({ ...pack, amount: ours, currency, subscription: { ...pro, amount: ours, currency } })
    const refund = { refundId: orderId, paymentId: 'pi_1', amount: ours, currency }
    expect(await stripe.refund(refund)).toMatchObject({ amount: ours })
    const bodies = fake.sent.filter(({ call }) => call.startsWith('POST')).map(({ body }) => body)
    const asked = bodies.map(
      (body) => body['line_items[0][price_data][unit_amount]'] ?? body.unit_amount ?? body.amount,
    )
    expect(asked.filter((each) => each !== undefined)).toEqual([theirs, theirs, theirs].map(String))
    expect((await stripe.getOrder('cs_1')).order).toMatchObject({ amount: ours, tax: ours, currency })
  })
})
