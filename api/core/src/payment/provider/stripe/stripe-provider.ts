// Stripe by its own library. Everything that we make there carries our id in its metadata, so that an event that comes
// before our own rows are written finds what it belongs to; everything that charges has an idempotency key of ours.
import type { Facts, NewRefund, PaymentProvider, RefundFacts } from '../provider.ts'
import { ProviderUnavailable } from '../provider-errors.ts'
import { toStripeAmount } from './stripe-amount.ts'
import { changeAtStripe } from './stripe-change.ts'
import { expireCheckout, openCheckout } from './stripe-checkout.ts'
import { asking, type StripeOptions, stripeClient } from './stripe-client.ts'
import { verifyStripeEvent } from './stripe-events.ts'
import { toRefundFacts } from './stripe-facts.ts'
import { refundKey } from './stripe-metadata.ts'
import { stripePrices } from './stripe-prices.ts'
import { ofSubscription, readCheckout, readSubject, type StripeParts } from './stripe-read.ts'

export function stripeProvider(options: StripeOptions): PaymentProvider {
  const stripe = stripeClient(options)
  const parts: StripeParts = { stripe, prices: stripePrices(stripe) }
  const endAtPeriodEnd = async (id: string, ends: boolean): Promise<Facts> =>
    ofSubscription(parts, await asking(stripe.subscriptions.update(id, { cancel_at_period_end: ends })))
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
    verifyEvent: (raw, headers) => verifyStripeEvent(options.webhookSecret, raw, headers),
  }
}

/** Stripe forgets its idempotency keys after a day, so a refund that was made before is looked for first. */
async function refund({ stripe }: StripeParts, { refundId, paymentId, ...wanted }: NewRefund): Promise<RefundFacts> {
  const amount = toStripeAmount(wanted.amount, wanted.currency)
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

/** Stripe stops collecting what is open of it, but who has the page of an invoice could still pay it: it is voided. */
async function endSubscription(parts: StripeParts, id: string): Promise<Facts> {
  const { subscriptions, invoices } = parts.stripe
  const found = await asking(subscriptions.retrieve(id))
  const ended = found.ended_at === null ? await asking(subscriptions.cancel(id, { prorate: false })) : found
  const { data: open } = await asking(invoices.list({ subscription: id, status: 'open', limit: 100 }))
  for (const invoice of open) await asking(invoices.voidInvoice(invoice.id))
  return ofSubscription(parts, ended)
}
