// Stripe by its own library. Everything that we make there carries our id in its metadata, so that an event that comes
// before our own rows are written finds what it belongs to; everything that charges has an idempotency key of ours.
import type Stripe from 'stripe'
import {
  type Change,
  type Checkout,
  type Facts,
  type NewCheckout,
  type NewRefund,
  type PaymentProvider,
  ProviderRefused,
  ProviderUnavailable,
  type RefundFacts,
  type Subject,
} from '../provider.ts'
import { asking, findAt, type StripeOptions, stripeClient } from './stripe-client.ts'
import { verifyStripeEvent } from './stripe-events.ts'
import {
  orderKey,
  refundKey,
  toInvoiceFacts,
  toOrderFacts,
  toRefundFacts,
  toSubscriptionFacts,
} from './stripe-facts.ts'
import { stripePrices } from './stripe-prices.ts'

export function stripeProvider(options: StripeOptions): PaymentProvider {
  const stripe = stripeClient(options)
  const prices = stripePrices(stripe)

  async function createCheckout(checkout: NewCheckout): Promise<Checkout> {
    const price = checkout.subscription && (await prices.idOf(checkout.subscription))
    const session = await asking(
      stripe.checkout.sessions.create(toSession(checkout, price), { idempotencyKey: `checkout:${checkout.orderId}` }),
    )
    if (session.url === null) throw new ProviderUnavailable('Stripe answered a checkout without a URL')
    return { id: session.id, url: session.url }
  }

  async function endCheckout(checkoutId: string): Promise<void> {
    try {
      await asking(stripe.checkout.sessions.expire(checkoutId))
    } catch (error) {
      // Complete or expired already: the caller reads which.
      if (!(error instanceof ProviderRefused)) throw error
    }
  }

  async function getOrder(checkoutId: string): Promise<Facts> {
    const expand = ['payment_intent.latest_charge', 'invoice.payments', 'subscription']
    const session = await findAt(stripe.checkout.sessions.retrieve(checkoutId, { expand }))
    const order = session && toOrderFacts(session)
    if (session === undefined || order === undefined) return {}
    const { subscription, invoice } = session
    return {
      order,
      ...(subscription && typeof subscription === 'object' && (await ofSubscription(subscription))),
      ...(invoice && typeof invoice === 'object' && (await ofInvoice(invoice))),
    }
  }

  async function ofSubscription(found: Stripe.Subscription): Promise<Facts> {
    const subscription = await toSubscriptionFacts(found, prices)
    return subscription ? { subscription } : {}
  }

  async function ofInvoice(found: Stripe.Invoice): Promise<Facts> {
    const invoice = await toInvoiceFacts(found, prices)
    return invoice ? { invoice } : {}
  }

  async function readSubscription(id: string): Promise<Facts | undefined> {
    const found = await findAt(stripe.subscriptions.retrieve(id))
    return found && ofSubscription(found)
  }

  /** With its subscription, which may be new to us. */
  async function readInvoice(id: string): Promise<Facts | undefined> {
    const found = await findAt(stripe.invoices.retrieve(id, { expand: ['payments'] }))
    const facts = found && (await ofInvoice(found))
    if (facts?.invoice === undefined) return facts
    return { ...(await readSubscription(facts.invoice.subscriptionId)), ...facts }
  }

  async function readRefund(id: string): Promise<Facts | undefined> {
    const found = await findAt(stripe.refunds.retrieve(id))
    const refund = found && toRefundFacts(found)
    return refund && { ...(await readPayment(refund.paymentId)), refund }
  }

  /** What a payment was for: an invoice, or a checkout. */
  async function readPayment(payment_intent: string): Promise<Facts | undefined> {
    const payment = { type: 'payment_intent', payment_intent } as const
    const { data: invoices } = await asking(stripe.invoicePayments.list({ payment, limit: 1 }))
    const invoice = invoices[0]?.invoice
    if (invoice !== undefined) return readInvoice(typeof invoice === 'string' ? invoice : invoice.id)
    const { data: sessions } = await asking(stripe.checkout.sessions.list({ payment_intent, limit: 1 }))
    return sessions[0] && getOrder(sessions[0].id)
  }

  async function read({ kind, id }: Subject): Promise<Facts | undefined> {
    if (kind === 'checkout') return getOrder(id)
    if (kind === 'subscription') return readSubscription(id)
    if (kind === 'invoice') return readInvoice(id)
    return kind === 'refund' ? readRefund(id) : undefined
  }

  /** Stripe forgets its idempotency keys after a day, so a refund that was made before is looked for first. */
  async function refund({ refundId, paymentId, amount }: NewRefund): Promise<RefundFacts> {
    const { data } = await asking(stripe.refunds.list({ payment_intent: paymentId, limit: 100 }))
    const made =
      data.find(({ metadata }) => metadata?.[refundKey] === refundId) ??
      (await asking(
        stripe.refunds.create(
          { payment_intent: paymentId, amount, metadata: { [refundKey]: refundId } },
          { idempotencyKey: `refund:${refundId}` },
        ),
      ))
    const facts = toRefundFacts(made)
    if (facts === undefined) throw new ProviderUnavailable('Stripe answered a refund without its payment')
    return facts
  }

  async function changeSubscription({ subscriptionId, from, to, when }: Change): Promise<Facts> {
    const [fromPrice, toPrice] = await Promise.all([prices.idOf(from), prices.idOf(to)])
    const { items } = await asking(stripe.subscriptions.retrieve(subscriptionId))
    const [item] = items.data
    if (item === undefined) throw new ProviderRefused('the subscription has no item')
    const change = (price: string, more: Stripe.SubscriptionUpdateParams) =>
      asking(stripe.subscriptions.update(subscriptionId, { items: [{ id: item.id, price }], ...more }))
    if (when === 'renewal') return ofSubscription(await change(toPrice, { proration_behavior: 'none' }))
    // A change that was to come with the renewal is taken back first: the credit is for what was paid.
    if (![fromPrice, toPrice].includes(item.price.id)) await change(fromPrice, { proration_behavior: 'none' })
    const changed = await change(toPrice, {
      proration_behavior: 'always_invoice',
      payment_behavior: 'error_if_incomplete',
      expand: ['latest_invoice.payments'],
    })
    const invoice = changed.latest_invoice
    return {
      ...(await ofSubscription(changed)),
      ...(invoice && typeof invoice === 'object' && (await ofInvoice(invoice))),
    }
  }

  const endAtPeriodEnd = async (id: string, ends: boolean): Promise<Facts> =>
    ofSubscription(await asking(stripe.subscriptions.update(id, { cancel_at_period_end: ends })))

  return {
    name: 'stripe',
    createCheckout,
    endCheckout,
    getOrder,
    read,
    refund,
    changeSubscription,
    cancelSubscription: (id) => endAtPeriodEnd(id, true),
    resumeSubscription: (id) => endAtPeriodEnd(id, false),
    verifyEvent: (raw, headers) => verifyStripeEvent(options.webhookSecret, raw, headers),
  }
}

function toSession(checkout: NewCheckout, price: string | null): Stripe.Checkout.SessionCreateParams {
  const { orderId, description, amount, currency, email, returnUrl } = checkout
  const metadata = { [orderKey]: orderId }
  const common = {
    client_reference_id: orderId,
    metadata,
    success_url: returnUrl,
    cancel_url: returnUrl,
    ...(email !== null && { customer_email: email }),
  }
  if (price !== null) {
    const subscription_data = { metadata }
    return { ...common, mode: 'subscription', line_items: [{ price, quantity: 1 }], subscription_data }
  }
  const price_data = { currency: currency.toLowerCase(), unit_amount: amount, product_data: { name: description } }
  return {
    ...common,
    mode: 'payment',
    line_items: [{ price_data, quantity: 1 }],
    payment_intent_data: { metadata },
  }
}
