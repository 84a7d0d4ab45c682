// Stripe through its library. Created objects carry Matte's ids in their metadata, so an event that arrives before the
// local row is written finds its order. Requests that charge carry an idempotency key.

import type Stripe from 'stripe'
import type { Checkout, Facts, NewCheckout, NewRefund, PaymentProvider, RefundFacts } from '../provider.ts'
import { ProviderRefused, ProviderUnavailable } from '../provider-errors.ts'
import { toStripeAmount } from './stripe-amount.ts'
import { changeAtStripe } from './stripe-change.ts'
import { callStripe, orderKey, refundKey, type StripeOptions, stripeClient } from './stripe-client.ts'
import { signatureHeader, verifyStripeEvent } from './stripe-events.ts'
import { stripePrices } from './stripe-prices.ts'
import { ofSubscription, readCheckout, readSubject, type StripeParts, toRefundFacts } from './stripe-read.ts'

export function stripeProvider(options: StripeOptions): PaymentProvider {
  const stripe = stripeClient(options)
  const parts: StripeParts = { stripe, prices: stripePrices(stripe) }
  const endAtPeriodEnd = async (id: string, ends: boolean): Promise<Facts> =>
    ofSubscription(parts, await callStripe(stripe.subscriptions.update(id, { cancel_at_period_end: ends })))
  return {
    name: 'stripe',
    createCheckout: (checkout) => openCheckout(parts, checkout),
    endCheckout: (id) => expireCheckout(parts, id),
    getOrder: (checkoutId) => readCheckout(parts, checkoutId),
    read: (subject) => readSubject(parts, subject),
    refund: (wanted) => refund(parts, wanted),
    changeSubscription: (wanted) => changeAtStripe(parts, wanted),
    cancelSubscription: (id) => endAtPeriodEnd(id, true),
    resumeSubscription: (id) => endAtPeriodEnd(id, false),
    endSubscription: (id) => endSubscription(parts, id),
    signatureHeader,
    verifyEvent: (raw, headers) => verifyStripeEvent(options.webhookSecret, raw, headers),
  }
}

/** Stripe drops idempotency keys after a day, so an earlier refund is looked up first. */
async function refund({ stripe }: StripeParts, { refundId, paymentId, ...wanted }: NewRefund): Promise<RefundFacts> {
  const amount = toStripeAmount(wanted.amount, wanted.currency)
  const { data } = await callStripe(stripe.refunds.list({ payment_intent: paymentId, limit: 100 }))
  const made =
    data.find(({ metadata }) => metadata?.[refundKey] === refundId) ??
    (await callStripe(
      stripe.refunds.create(
        { payment_intent: paymentId, amount, metadata: { [refundKey]: refundId } },
        { idempotencyKey: `refund:${refundId}` },
      ),
    ))
  const facts = toRefundFacts(made)
  if (facts === undefined) throw new ProviderUnavailable('Stripe returned a refund without its payment')
  return facts
}

/** Open invoices are voided: Stripe stops collecting them, but their pages would still accept payments. */
async function endSubscription(parts: StripeParts, id: string): Promise<Facts> {
  const { subscriptions, invoices } = parts.stripe
  const found = await callStripe(subscriptions.retrieve(id))
  const ended = found.ended_at === null ? await callStripe(subscriptions.cancel(id, { prorate: false })) : found
  const { data: open } = await callStripe(invoices.list({ subscription: id, status: 'open', limit: 100 }))
  for (const invoice of open) await callStripe(invoices.voidInvoice(invoice.id))
  return ofSubscription(parts, ended)
}

export async function openCheckout({ stripe, prices }: StripeParts, checkout: NewCheckout): Promise<Checkout> {
  const price = checkout.subscription && (await prices.idOf(checkout.subscription))
  const session = await callStripe(
    stripe.checkout.sessions.create(toSession(checkout, price), { idempotencyKey: `checkout:${checkout.orderId}` }),
  )
  if (session.url === null) throw new ProviderUnavailable('Stripe answered a checkout without a URL')
  return { id: session.id, url: session.url }
}

export async function expireCheckout({ stripe }: StripeParts, checkoutId: string): Promise<void> {
  try {
    await callStripe(stripe.checkout.sessions.expire(checkoutId))
  } catch (error) {
    // Already complete or expired; the caller reads the state.
    if (!(error instanceof ProviderRefused)) throw error
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
  const unit_amount = toStripeAmount(amount, currency)
  const price_data = { currency: currency.toLowerCase(), unit_amount, product_data: { name: description } }
  return {
    ...common,
    mode: 'payment',
    line_items: [{ price_data, quantity: 1 }],
    payment_intent_data: { metadata },
  }
}
