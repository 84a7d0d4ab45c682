import type { Db } from '../../../db/database.ts'
import type { Facts, Subject } from '../provider.ts'
import { toInvoiceFacts, toOrderFacts, toSubscriptionFacts } from './sandbox-facts.ts'
import { findPaid, readState } from './sandbox-objects.ts'

export async function readSubject(db: Db, { kind, id }: Subject): Promise<Facts | undefined> {
  if (kind === 'checkout') return readCheckout(db, id)
  if (kind === 'subscription') return readSubscription(db, id)
  if (kind === 'invoice') return readInvoice(db, id)
  if (kind === 'order') return undefined
  const refund = await readState(db, 'refund', id)
  const paid = refund && (await findPaid(db, refund.paymentId))
  const payment = paid && (await (paid.kind === 'invoice' ? readInvoice(db, paid.id) : readCheckout(db, paid.id)))
  return refund && { ...payment, refund }
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
