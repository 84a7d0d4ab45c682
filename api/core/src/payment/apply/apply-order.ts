import { grantCredits } from '../../credit/lot-queries.ts'
import type { Db } from '../../db/database.ts'
import { publishEvent } from '../../notification/publish-event.ts'
import type { OrderFacts } from '../provider/provider.ts'
import { type OrderRow, updateOrder } from '../rows/order-queries.ts'
import type { Applying } from './applying.ts'
import { issueInvoice } from './issue-invoice.ts'

// An order only ever goes up this list, whatever the order in which its events come: pending, failed, canceled, paid,
// refunded in part, refunded. Whoever has paid gets what was paid for, were the order canceled or not.
export const isOpen = ({ status }: Pick<OrderRow, 'status'>): boolean => status === 'pending' || status === 'failed'
const isUnpaid = (order: OrderRow): boolean => isOpen(order) || order.status === 'canceled'

const dayMs = 24 * 60 * 60 * 1_000

/** A checkout: of a pack it is the payment; of a subscription its invoice is. */
export async function applyOrder(applying: Applying, order: OrderRow, facts: OrderFacts): Promise<void> {
  const { tx, workspaceId } = applying
  if (facts.status === 'expired' && isOpen(order)) await closeOrder(tx, order.id)
  if (facts.status !== 'paid' || order.kind !== 'pack') return
  const paidAt = facts.paidAt ?? applying.now
  const paid = await markPaid(applying, order, { ...facts, paidAt })
  if (paid === undefined) return
  const { expires_after_days: days, credits } = paid
  const expiresAt = days === null ? null : new Date(paidAt.getTime() + days * dayMs)
  const lot = await grantCredits(tx, {
    workspaceId,
    kind: 'pack',
    amount: credits,
    expiresAt,
    source: `order:${order.id}`,
  })
  await updateOrder(tx, order.id, { lot_id: lot?.lotId ?? null })
  await publishEvent(tx, {
    event: 'credits.pack_purchased',
    fields: { credits, pack_name: order.description, message: `${credits} credits were added.` },
    key: order.id,
    workspaceId,
    userId: null,
  })
}

type Payment = {
  readonly paymentId: string | null
  readonly amount: number
  readonly tax: number
  readonly currency: string
  readonly paidAt: Date
}

/** Once an order: notes the payment, issues its invoice, says so. Undefined: it was paid before. */
export async function markPaid(
  applying: Applying,
  order: OrderRow,
  { paymentId, amount, tax, currency, paidAt }: Payment,
): Promise<OrderRow | undefined> {
  if (!isUnpaid(order)) return undefined
  const { tx, workspaceId } = applying
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
  await issueInvoice(applying, paid, paidAt)
  // A credit to the customer is no payment.
  if (amount < 0) return paid
  applying.metrics?.count('paid')
  await publishEvent(tx, {
    event: 'payment.succeeded',
    fields: { order_id: order.id, amount, currency, message: `${paid.description} is paid.` },
    key: order.id,
    workspaceId,
    userId: null,
  })
  return paid
}

/** A charge failed; the payer may try again. `key` names the failure, which is told once. */
export async function noteFailure(
  { tx, workspaceId, metrics }: Applying,
  order: OrderRow,
  { failure, key }: { readonly failure: string; readonly key: string },
): Promise<void> {
  if (isOpen(order)) await updateOrder(tx, order.id, { status: 'failed', failure })
  metrics?.count('declined')
  const fields = { order_id: order.id, message: failure }
  await publishEvent(tx, { event: 'payment.failed', fields, key, workspaceId, userId: null })
}

/** Nothing can be paid for it any more. */
export const closeOrder = (tx: Db, id: string): Promise<OrderRow> =>
  updateOrder(tx, id, { status: 'canceled', check_at: null })
