// What is true at Stripe now. Undefined: it is not there, or none of ours.
import type Stripe from 'stripe'
import type { Facts, Subject } from '../provider.ts'
import { asking, findAt } from './stripe-client.ts'
import { toInvoiceFacts, toOrderFacts, toRefundFacts, toSubscriptionFacts } from './stripe-facts.ts'
import { chargeOf, fingerprintOf } from './stripe-instrument.ts'
import type { StripePrices } from './stripe-prices.ts'

export type StripeParts = { readonly stripe: Stripe; readonly prices: StripePrices }

export async function readSubject(parts: StripeParts, { kind, id }: Subject): Promise<Facts | undefined> {
  if (kind === 'checkout') return readCheckout(parts, id)
  if (kind === 'subscription') return readSubscription(parts, id)
  if (kind === 'invoice') return readInvoice(parts, id)
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

/** With its subscription, which may be new to us. */
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

/** What a payment was for: an invoice, or a checkout. */
async function readPayment(parts: StripeParts, payment_intent: string): Promise<Facts | undefined> {
  const { stripe } = parts
  const payment = { type: 'payment_intent', payment_intent } as const
  const { data: invoices } = await asking(stripe.invoicePayments.list({ payment, limit: 1 }))
  const invoice = invoices[0]?.invoice
  if (invoice !== undefined) return readInvoice(parts, typeof invoice === 'string' ? invoice : invoice.id)
  const { data: sessions } = await asking(stripe.checkout.sessions.list({ payment_intent, limit: 1 }))
  return sessions[0] && readCheckout(parts, sessions[0].id)
}
