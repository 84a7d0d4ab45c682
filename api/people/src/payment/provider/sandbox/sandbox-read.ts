import type { Db } from '@matte/core/db/database'
import type { DisputeFacts, Facts, InvoiceFacts, OrderFacts, Subject, SubscriptionFacts } from '../provider.ts'
import { type CheckoutState, findPaid, type InvoiceState, readState, type SubscriptionState } from './sandbox-state.ts'

export async function readSubject(db: Db, { kind, id }: Subject): Promise<Facts | undefined> {
  if (kind === 'checkout') return readCheckout(db, id)
  if (kind === 'subscription') return readSubscription(db, id)
  if (kind === 'invoice') return readInvoice(db, id)
  if (kind === 'order') return undefined
  if (kind === 'dispute') return readDispute(db, id)
  const refund = await readState(db, 'refund', id)
  return refund && { ...(await readPayment(db, refund.paymentId)), refund }
}

async function readDispute(db: Db, id: string): Promise<Facts | undefined> {
  const state = await readState(db, 'dispute', id)
  if (state === undefined) return undefined
  const status =
    state.status === 'needs_response' ? 'open' : state.status.startsWith('warning_') ? 'none' : state.status
  return {
    ...(await readPayment(db, state.paymentId)),
    dispute: { ...state, status: status as DisputeFacts['status'] },
  }
}

async function readPayment(db: Db, paymentId: string): Promise<Facts | undefined> {
  const paid = await findPaid(db, paymentId)
  return paid && (paid.kind === 'invoice' ? readInvoice(db, paid.id) : readCheckout(db, paid.id))
}

export async function readCheckout(db: Db, id: string): Promise<Facts> {
  const state = await readState(db, 'checkout', id)
  if (state === undefined) return {}
  const { subscriptionId, invoiceId } = state
  return {
    order: toOrderFacts(id, state),
    ...(subscriptionId !== null && (await readSubscription(db, subscriptionId))),
    ...(invoiceId !== null && (await readInvoice(db, invoiceId))),
  }
}

export async function readSubscription(db: Db, id: string): Promise<Facts | undefined> {
  const state = await readState(db, 'subscription', id)
  return state && { subscription: toSubscriptionFacts(id, state) }
}

export async function readInvoice(db: Db, id: string): Promise<Facts | undefined> {
  const state = await readState(db, 'invoice', id)
  return state && { ...(await readSubscription(db, state.subscriptionId)), invoice: toInvoiceFacts(state) }
}

export const toOrderFacts = (checkoutId: string, state: CheckoutState): OrderFacts => ({
  orderId: state.orderId,
  checkoutId,
  status: state.status,
  paymentId: state.paymentId,
  amount: state.amount,
  tax: 0,
  currency: state.currency,
  paidAt: dateOrNull(state.paidAt),
})

export const toSubscriptionFacts = (id: string, state: SubscriptionState): SubscriptionFacts => ({
  id,
  orderId: state.orderId,
  plan: state.next.plan,
  interval: state.next.interval,
  status: state.status,
  periodStart: new Date(state.periodStart),
  periodEnd: new Date(state.periodEnd),
  cancelAtPeriodEnd: state.cancelAtPeriodEnd,
  endedAt: dateOrNull(state.endedAt),
})

export const toInvoiceFacts = ({ bought, unused, paidAt, ...state }: InvoiceState): InvoiceFacts => ({
  ...state,
  paidAt: dateOrNull(paidAt),
  bought: { ...bought, startsAt: new Date(bought.startsAt), endsAt: new Date(bought.endsAt) },
  unused: unused && { ...unused, endsAt: new Date(unused.endsAt) },
})

const dateOrNull = (text: string | null): Date | null => (text === null ? null : new Date(text))
