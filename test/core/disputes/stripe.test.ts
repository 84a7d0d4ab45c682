// Disputes at Stripe: a local server answers from a state that the test keeps, and events are only hints.
import { createHmac } from 'node:crypto'
import { stripeProvider } from '@matte/people/payment/provider/stripe/stripe-provider'
import { receiveEvent } from '@matte/people/payment/receive-event'
import { createRefund } from '@matte/people/payment/refunds'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.ts'
import { useFakeStripe } from '../fake-stripe.ts'
import { givenBuyer, orderFor, wanted } from '../payment-buyers.ts'
import { paymentWorld } from '../payment-world.ts'
import { watch } from './disputed.ts'

const database = useDatabase()
const fake = useFakeStripe()
const webhookSecret = 'whsec_test'

let payments = 0

const dispute = (status: string, more: object = {}) => ({
  ...{ id: `du_${payments}`, object: 'dispute', charge: 'ch_1', payment_intent: `pi_${payments}`, status },
  ...{
    reason: 'fraudulent',
    amount: 900,
    currency: 'usd',
    is_charge_refundable: status.startsWith('warning_'),
    ...more,
  },
})

/** A paid pack at Stripe, whose dispute has the status that `bank` sets. */
async function givenPaidAtStripe() {
  const { db } = database
  const world = paymentWorld(db, () =>
    stripeProvider({ secretKey: 'sk_test_x', webhookSecret, apiBase: fake.origin() }),
  )
  const buyer = await givenBuyer(db)
  const checkoutId = `cs_${++payments}`
  fake.answers = { 'POST /v1/checkout/sessions': { json: { id: checkoutId, url: 'https://checkout.stripe.com/c/1' } } }
  const { id } = await orderFor(world, buyer, wanted.pack)
  const session = {
    ...{ id: checkoutId, object: 'checkout.session', metadata: { matte_order_id: id }, status: 'complete' },
    ...{ payment_status: 'paid', amount_total: 900, currency: 'usd' },
    payment_intent: { id: `pi_${payments}`, latest_charge: { id: 'ch_1', created: Math.floor(Date.now() / 1_000) } },
  }
  let state: object = {}
  fake.answers = {
    [`GET /v1/checkout/sessions/${checkoutId}`]: { json: session },
    'GET /v1/checkout/sessions': { json: { object: 'list', data: [session] } },
    'GET /v1/invoice_payments': { json: { object: 'list', data: [] } },
    'GET /v1/refunds': { json: { object: 'list', data: [] } },
    'POST /v1/refunds': {
      status: 400,
      json: { error: { type: 'invalid_request_error', code: 'charge_disputed', message: 'Charge ch_1 is disputed.' } },
    },
    [`GET /v1/disputes/du_${payments}`]: () => ({ json: state }),
  }
  let sent = 0
  const receive = (type: string, object: object) => {
    const body = JSON.stringify({ id: `evt_${id}_${sent++}`, object: 'event', type, data: { object } })
    const timestamp = Math.floor(Date.now() / 1_000)
    const signature = createHmac('sha256', webhookSecret).update(`${timestamp}.${body}`).digest('hex')
    return receiveEvent(world.deps, Buffer.from(body), { 'stripe-signature': `t=${timestamp},v1=${signature}` })
  }
  return {
    ...watch(world, buyer, id),
    pay: () => receive('checkout.session.completed', { id: checkoutId }),
    bank: (status: string, more: object = {}) => {
      state = dispute(status, more)
    },
    /** The event’s copy of the dispute is outdated on purpose. */
    hear: (type: string) => receive(`charge.dispute.${type}`, dispute('needs_response')),
  }
}

describe('a dispute at Stripe', () => {
  it('holds the credits of its payment and gives them back when it is won', async () => {
    const paid = await givenPaidAtStripe()
    await paid.pay()
    paid.bank('needs_response')
    expect([await paid.hear('created'), await paid.hear('funds_withdrawn')]).toEqual(['applied', 'applied'])
    expect(await paid.lot()).toMatchObject({ available: 0, held: 100 })
    paid.bank('under_review')
    await paid.hear('updated')
    expect(await paid.lot()).toMatchObject({ held: 100 })
    paid.bank('won')
    await paid.hear('funds_reinstated')
    await paid.hear('closed')
    expect(await paid.lot()).toMatchObject({ available: 100, held: 0 })
    expect((await paid.events()).filter((event) => event.includes('dispute'))).toEqual([
      ...['payment.dispute_closed', 'payment.disputed'],
    ])
  })

  it('is applied in the state that Stripe has, whatever event arrives first, before the payment’s own', async () => {
    const paid = await givenPaidAtStripe()
    paid.bank('lost')
    expect(await paid.hear('closed')).toBe('applied')
    expect(await paid.hear('created')).toBe('applied')
    expect(await paid.pay()).toBe('applied')
    expect(await paid.lot()).toMatchObject({ available: 0, held: 0, refunded: 100 })
  })

  it.each([
    ['warning_needs_response', 100, 0, 0],
    ['warning_under_review', 100, 0, 0],
    ['warning_closed', 100, 0, 0],
    ['prevented', 100, 0, 0],
    ['needs_response', 0, 100, 0],
    ['under_review', 0, 100, 0],
    ['won', 100, 0, 0],
    ['lost', 0, 0, 100],
    ['appeal_needs_response', 0, 0, 100],
    ['appeal_under_review', 0, 0, 100],
  ])('with the status %s leaves %i credits, holds %i and takes %i', async (status, available, held, refunded) => {
    const paid = await givenPaidAtStripe()
    await paid.pay()
    paid.bank(status)
    await paid.hear('created')
    expect(await paid.lot()).toMatchObject({ available, held, refunded })
  })

  it('in another amount and currency than was paid counts as the whole payment', async () => {
    const paid = await givenPaidAtStripe()
    await paid.pay()
    paid.bank('needs_response', { amount: 830, currency: 'eur' })
    await paid.hear('created')
    expect(await paid.lot()).toMatchObject({ available: 0, held: 100 })
  })

  it('makes Stripe refuse a refund whose event comes first, and holds its credits then', async () => {
    const paid = await givenPaidAtStripe()
    await paid.pay()
    paid.bank('needs_response')
    const { orderId, buyer, world } = paid
    const wish = { ...buyer, orderId, reason: 'test', once: undefined }
    expect(await createRefund(world.deps, wish)).toMatchObject({
      status: 'failed',
      failure: 'Charge ch_1 is disputed.',
    })
    await paid.hear('created')
    expect(await paid.lot()).toMatchObject({ available: 0, held: 100 })
  })

  it('of a payment of another application in the account is ignored', async () => {
    const paid = await givenPaidAtStripe()
    await paid.pay()
    paid.bank('needs_response', { payment_intent: 'pi_other' })
    fake.answers['GET /v1/checkout/sessions'] = { json: { object: 'list', data: [] } }
    expect(await paid.hear('created')).toBe('ignored')
    paid.bank('needs_response', { payment_intent: null })
    expect(await paid.hear('created')).toBe('ignored')
    expect(await paid.lot()).toMatchObject({ available: 100 })
  })
})
