// Stripe's objects as facts. What is not ours, another application's in the same account, is undefined.
import type Stripe from 'stripe'
import type { InvoiceFacts, OrderFacts, RefundFacts, SubscriptionFacts } from '../provider.ts'
import { fromStripeAmount } from './stripe-amount.ts'
import { chargeOf } from './stripe-instrument.ts'
import { orderKey, refundKey, unusedKey } from './stripe-metadata.ts'
import type { StripePrices } from './stripe-prices.ts'

export function toOrderFacts(session: Stripe.Checkout.Session): OrderFacts | undefined {
  const orderId = session.metadata?.[orderKey]
  if (orderId === undefined) return undefined
  const charge = chargeOf(session)
  const currency = (session.currency ?? '').toUpperCase()
  return {
    orderId,
    checkoutId: session.id,
    status: session.payment_status === 'paid' ? 'paid' : session.status === 'expired' ? 'expired' : 'open',
    paymentId: idOf(session.payment_intent),
    amount: fromStripeAmount(session.amount_total ?? 0, currency),
    tax: fromStripeAmount(session.total_details?.amount_tax ?? 0, currency),
    currency,
    paidAt: charge ? toDate(charge.created) : null,
  }
}

export async function toSubscriptionFacts(
  subscription: Stripe.Subscription,
  prices: StripePrices,
): Promise<SubscriptionFacts | undefined> {
  const orderId = subscription.metadata[orderKey]
  const [item] = subscription.items.data
  const priced = item && (await prices.planOf(item.price.id))
  if (orderId === undefined || item === undefined || priced === undefined) return undefined
  return {
    id: subscription.id,
    orderId,
    ...priced,
    status: statusOf(subscription.status),
    periodStart: toDate(item.current_period_start),
    periodEnd: toDate(item.current_period_end),
    // The dashboard may set either.
    cancelAtPeriodEnd: subscription.cancel_at_period_end || subscription.cancel_at !== null,
    endedAt: subscription.ended_at === null ? null : toDate(subscription.ended_at),
  }
}

/** `unpaid` and `paused` go on without being paid: how long the plan lasts then is our own rule. */
function statusOf(status: Stripe.Subscription['status']): SubscriptionFacts['status'] {
  if (status === 'active' || status === 'trialing') return 'active'
  if (status === 'canceled' || status === 'incomplete_expired') return 'canceled'
  return status === 'incomplete' ? 'incomplete' : 'past_due'
}

export async function toInvoiceFacts(invoice: Stripe.Invoice, prices: StripePrices): Promise<InvoiceFacts | undefined> {
  const { subscription, metadata } = invoice.parent?.subscription_details ?? {}
  const orderId = metadata?.[orderKey]
  const lines = await pricedLines(invoice, prices)
  const paidFor = lines.findLast(({ amount }) => amount >= 0)
  const bought = paidFor ?? lines.at(-1)
  const reason = reasonOf(invoice.billing_reason)
  if (subscription == null || orderId === undefined || bought === undefined || reason === undefined) return undefined
  const unused = reason === 'change' ? lines.find(({ amount }) => amount < 0) : undefined
  const { plan, interval, start, end } = bought
  const tax = (invoice.total_taxes ?? []).reduce((sum, { amount }) => sum + amount, 0)
  const currency = invoice.currency.toUpperCase()
  return {
    id: invoice.id,
    subscriptionId: idOf(subscription) ?? '',
    orderId,
    reason,
    status: invoice.status === 'paid' ? 'paid' : invoice.status === 'void' ? 'void' : 'open',
    paymentId: paymentOf(invoice),
    amount: fromStripeAmount(invoice.total, currency),
    tax: fromStripeAmount(tax, currency),
    currency,
    paidAt: invoice.status_transitions.paid_at == null ? null : toDate(invoice.status_transitions.paid_at),
    bought: { plan, interval, startsAt: toDate(start), endsAt: toDate(end) },
    creditsOnly: paidFor === undefined,
    unused: unused === undefined ? null : { plan: paidPlanOf(invoice) ?? unused.plan, endsAt: toDate(unused.end) },
  }
}

/** The plan that a change took the place of, if a downgrade was planned: the credit may name the planned one. */
const paidPlanOf = ({ lines }: Stripe.Invoice): string | undefined =>
  lines.data.map(({ metadata }) => metadata?.[unusedKey]).find((plan) => plan !== undefined)

async function pricedLines(invoice: Stripe.Invoice, prices: StripePrices) {
  const lines = invoice.lines.data.map(async ({ amount, period, pricing }) => {
    const price = idOf(pricing?.price_details?.price ?? null)
    const priced = price === null ? undefined : await prices.planOf(price)
    return priced && { amount, ...period, ...priced }
  })
  return (await Promise.all(lines)).filter((line) => line !== undefined)
}

function reasonOf(reason: Stripe.Invoice['billing_reason']): InvoiceFacts['reason'] | undefined {
  if (reason === 'subscription_create') return 'purchase'
  if (reason === 'subscription_cycle') return 'renewal'
  return reason === 'subscription_update' ? 'change' : undefined
}

function paymentOf({ payments }: Stripe.Invoice): string | null {
  const paid = payments?.data.find(({ status }) => status === 'paid')
  return idOf(paid?.payment.payment_intent ?? null)
}

export function toRefundFacts(refund: Stripe.Refund): RefundFacts | undefined {
  const paymentId = idOf(refund.payment_intent)
  if (paymentId === null) return undefined
  const { status } = refund
  return {
    id: refund.id,
    refundId: refund.metadata?.[refundKey] ?? null,
    paymentId,
    status: status === 'succeeded' ? status : status === 'failed' || status === 'canceled' ? 'failed' : 'pending',
    amount: fromStripeAmount(refund.amount, refund.currency),
    failure: refund.failure_reason ?? null,
  }
}

const idOf = (value: string | { readonly id: string } | null): string | null =>
  typeof value === 'string' || value === null ? value : value.id

const toDate = (seconds: number): Date => new Date(seconds * 1_000)
