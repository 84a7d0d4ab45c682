// Order states only advance: pending, failed, canceled, paid, partially refunded, refunded. A late payment of a
// canceled order counts: the payer gets the credits.
import { grantCredits } from '@matte/core/credit/lot-queries'
import type { Db } from '@matte/core/db/database'
import { publishEvent } from '@matte/core/webhook/publish-event'
import { type OrderRow, updateOrder } from '../order-queries.ts'
import type { OrderFacts } from '../provider/provider.ts'
import type { ApplyContext } from './apply-context.ts'
import { issueInvoice } from './issue-invoice.ts'

export const isOpen = ({ status }: Pick<OrderRow, 'status'>): boolean => status === 'pending' || status === 'failed'
const isUnpaid = (order: OrderRow): boolean => isOpen(order) || order.status === 'canceled'

const dayMs = 24 * 60 * 60 * 1_000

/** Applies a checkout. It pays for a pack; a subscription is paid by its invoice. */
export async function applyOrder(context: ApplyContext, order: OrderRow, facts: OrderFacts): Promise<void> {
  const { tx, workspaceId } = context
  if (facts.status === 'expired' && isOpen(order)) await closeOrder(tx, order.id)
  if (facts.status !== 'paid' || order.kind !== 'pack') return
  const paidAt = facts.paidAt ?? context.now
  const paid = await markPaid(context, order, { ...facts, paidAt })
  if (paid === undefined) return
  const { expires_after_days: days, credits } = paid
  const expiresAt = days === null ? null : new Date(paidAt.getTime() + days * dayMs)
  const source = `order:${order.id}`
  const lot = await grantCredits(tx, { workspaceId, kind: 'pack', amount: credits, expiresAt, source })
  await updateOrder(tx, order.id, { lot_id: lot?.lotId ?? null })
  const fields = { credits, pack_name: order.description, message: `${credits} credits were added.` }
  await publishEvent(tx, { event: 'credits.pack_purchased', fields, key: order.id, workspaceId, userId: null })
}

type Payment = {
  readonly paymentId: string | null
  readonly amount: number
  readonly tax: number
  readonly currency: string
  readonly paidAt: Date
}

/** Records the payment, issues the invoice and publishes the event, once per order. Undefined: it was paid before. */
export async function markPaid(
  context: ApplyContext,
  order: OrderRow,
  { paymentId, amount, tax, currency, paidAt }: Payment,
): Promise<OrderRow | undefined> {
  if (!isUnpaid(order)) return undefined
  const { tx, workspaceId } = context
  const paid = await updateOrder(tx, order.id, {
    status: 'paid',
    payment_id: paymentId,
    amount,
    tax,
    currency,
    paid_at: paidAt,
    failure: null,
    check_at: null,
  })
  await issueInvoice(context, paid, paidAt)
  // A negative amount is a credit to the customer, not a payment.
  if (amount < 0) return paid
  context.metrics?.count('paid')
  const fields = { order_id: order.id, amount, currency, message: `${paid.description} is paid.` }
  await publishEvent(tx, { event: 'payment.succeeded', fields, key: order.id, workspaceId, userId: null })
  return paid
}

/** Records a failed charge; the payer may try again. `key` makes the event idempotent. */
export async function recordFailure(
  { tx, workspaceId, metrics }: ApplyContext,
  order: OrderRow,
  { failure, key }: { readonly failure: string; readonly key: string },
): Promise<void> {
  if (isOpen(order)) await updateOrder(tx, order.id, { status: 'failed', failure })
  metrics?.count('declined')
  const fields = { order_id: order.id, message: failure }
  await publishEvent(tx, { event: 'payment.failed', fields, key, workspaceId, userId: null })
}

export const closeOrder = (tx: Db, id: string): Promise<OrderRow> =>
  updateOrder(tx, id, { status: 'canceled', check_at: null })
