// Reads Stripe objects as facts; undefined for missing objects and for those of other applications in the account.
import type Stripe from 'stripe'
import type {
  DisputeFacts,
  Facts,
  InvoiceFacts,
  OrderFacts,
  RefundFacts,
  Subject,
  SubscriptionFacts,
} from '../provider.ts'
import { fromStripeAmount } from './stripe-amount.ts'
import { callStripe, findAt, orderKey, refundKey, unusedKey } from './stripe-client.ts'
import type { StripePrices } from './stripe-prices.ts'

export type StripeParts = { readonly stripe: Stripe; readonly prices: StripePrices }

export async function readSubject(parts: StripeParts, { kind, id }: Subject): Promise<Facts | undefined> {
  if (kind === 'checkout') return readCheckout(parts, id)
  if (kind === 'subscription') return readSubscription(parts, id)
  if (kind === 'invoice') return readInvoice(parts, id)
  if (kind === 'dispute') return readDispute(parts, id)
  return kind === 'refund' ? readRefund(parts, id) : undefined
}

export async function readCheckout(parts: StripeParts, id: string): Promise<Facts> {
  const expand = ['payment_intent.latest_charge', 'invoice.payments', 'subscription.default_payment_method']
  const session = await findAt(parts.stripe.checkout.sessions.retrieve(id, { expand }))
  const order = session && toOrderFacts(session)
  if (session === undefined || order === undefined) return {}
  const { subscription, invoice } = session
  return {
    order,
    ...fingerprintOf(chargeOf(session)?.payment_method_details),
    ...(subscription && typeof subscription === 'object' && (await ofSubscription(parts, subscription))),
    ...(invoice && typeof invoice === 'object' && (await ofInvoice(parts, invoice))),
  }
}

export async function ofSubscription({ prices }: StripeParts, found: Stripe.Subscription): Promise<Facts> {
  const subscription = await toSubscriptionFacts(found, prices)
  return subscription ? { subscription, ...fingerprintOf(found.default_payment_method) } : {}
}

export async function ofInvoice({ prices }: StripeParts, found: Stripe.Invoice): Promise<Facts> {
  const invoice = await toInvoiceFacts(found, prices)
  return invoice ? { invoice } : {}
}

async function readSubscription(parts: StripeParts, id: string): Promise<Facts | undefined> {
  const found = await findAt(parts.stripe.subscriptions.retrieve(id, { expand: ['default_payment_method'] }))
  return found && ofSubscription(parts, found)
}

/** Includes the subscription, which may be unknown here. */
async function readInvoice(parts: StripeParts, id: string): Promise<Facts | undefined> {
  const found = await findAt(parts.stripe.invoices.retrieve(id, { expand: ['payments'] }))
  const facts = found && (await ofInvoice(parts, found))
  if (facts?.invoice === undefined) return facts
  return { ...(await readSubscription(parts, facts.invoice.subscriptionId)), ...facts }
}

async function readRefund(parts: StripeParts, id: string): Promise<Facts | undefined> {
  const found = await findAt(parts.stripe.refunds.retrieve(id))
  const refund = found && toRefundFacts(found)
  return refund && { ...(await readPayment(parts, refund.paymentId)), refund }
}

async function readDispute(parts: StripeParts, id: string): Promise<Facts | undefined> {
  const found = await findAt(parts.stripe.disputes.retrieve(id))
  const dispute = found && toDisputeFacts(found)
  return dispute && { ...(await readPayment(parts, dispute.paymentId)), dispute }
}

async function readPayment(parts: StripeParts, payment_intent: string): Promise<Facts | undefined> {
  const { stripe } = parts
  const payment = { type: 'payment_intent', payment_intent } as const
  const { data: invoices } = await callStripe(stripe.invoicePayments.list({ payment, limit: 1 }))
  const invoice = invoices[0]?.invoice
  if (invoice !== undefined) return readInvoice(parts, typeof invoice === 'string' ? invoice : invoice.id)
  const { data: sessions } = await callStripe(stripe.checkout.sessions.list({ payment_intent, limit: 1 }))
  return sessions[0] && readCheckout(parts, sessions[0].id)
}

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
    // The dashboard can set either field.
    cancelAtPeriodEnd: subscription.cancel_at_period_end || subscription.cancel_at !== null,
    endedAt: subscription.ended_at === null ? null : toDate(subscription.ended_at),
  }
}

/** `unpaid` and `paused` subscriptions count as past due; Matte's grace period decides about the plan. */
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

/** The plan replaced by a change, from the correction line; Stripe's own credit may name a scheduled downgrade. */
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

export function toDisputeFacts({ id, payment_intent, status, ...dispute }: Stripe.Dispute): DisputeFacts | undefined {
  const paymentId = idOf(payment_intent)
  if (paymentId === null) return undefined
  const { amount, currency, reason } = dispute
  return {
    ...{ id, paymentId, reason, status: disputeStatusOf(status) },
    amount: fromStripeAmount(amount, currency),
    currency: currency.toUpperCase(),
  }
}

/** An inquiry (`warning_…`) withdraws nothing, and the payment of a `prevented` dispute is refunded. */
function disputeStatusOf(status: Stripe.Dispute['status']): DisputeFacts['status'] {
  if (status === 'won') return 'won'
  // The money stays away until an appeal is won.
  if (status === 'lost' || status.startsWith('appeal_')) return 'lost'
  return status === 'prevented' || status.startsWith('warning_') ? 'none' : 'open'
}

const idOf = (value: string | { readonly id: string } | null): string | null =>
  typeof value === 'string' || value === null ? value : value.id

const toDate = (seconds: number): Date => new Date(seconds * 1_000)

type Instrument = Pick<Stripe.PaymentMethod, 'card' | 'us_bank_account' | 'sepa_debit'>
type Charged = Pick<Stripe.Charge.PaymentMethodDetails, 'card' | 'us_bank_account' | 'sepa_debit'>

/** Fingerprint of the payment method, the same for every payer; empty if not expanded or unknown. */
export function fingerprintOf(paidWith: Instrument | Charged | string | null | undefined): { fingerprint?: string } {
  if (typeof paidWith === 'string' || paidWith == null) return {}
  const { card, us_bank_account, sepa_debit } = paidWith
  const fingerprint = [card, us_bank_account, sepa_debit].find((each) => each?.fingerprint != null)?.fingerprint
  return fingerprint == null ? {} : { fingerprint }
}

export function chargeOf({ payment_intent: intent }: Stripe.Checkout.Session): Stripe.Charge | null {
  const charge = typeof intent === 'string' ? null : intent?.latest_charge
  return typeof charge === 'string' ? null : (charge ?? null)
}
