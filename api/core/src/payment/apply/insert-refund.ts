import type { Selectable } from 'kysely'
import type { Tables } from '../../db/tables/index.ts'
import type { OrderRow } from '../rows/order-queries.ts'
import type { Applying } from './applying.ts'
import { type findLeft, takeCredits } from './credits-left.ts'

export type RefundRow = Selectable<Tables['refund']>
type Left = Awaited<ReturnType<typeof findLeft>>

export const refundableOf = (order: OrderRow, { ofLot, toCome }: Left) => ({
  amount: order.amount,
  credits: order.credits,
  refundedAmount: order.refunded_amount,
  refundedCredits: order.refunded_credits,
  available: ofLot + toCome,
})

type NewRefund = {
  readonly amount: number
  readonly credits: number
  readonly left: Left
  readonly reason: string
  readonly providerRefundId: string | null
  readonly createdBy: string | null
}

/** How long after it was begun the provider is asked for a refund again. */
export const refundCheckSeconds = 60

/** The refund with its credits taken back, before the money is: nobody spends what is being paid back. */
export async function insertRefund(applying: Applying, order: OrderRow, refund: NewRefund): Promise<RefundRow> {
  const { tx, workspaceId, now } = applying
  const { amount, credits, reason } = refund
  const row = await tx
    .insertInto('refund')
    .values({
      workspace_id: workspaceId,
      order_id: order.id,
      created_by: refund.createdBy,
      amount,
      currency: order.currency,
      credits,
      withheld: credits - Math.min(credits, refund.left.ofLot),
      lot_id: order.lot_id,
      reason,
      provider_refund_id: refund.providerRefundId,
      check_at: new Date(now.getTime() + refundCheckSeconds * 1_000),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await takeCredits(applying, row)
  await addRefunded(applying, order.id, { amount, credits })
  return row
}

type Share = { readonly amount: number; readonly credits: number }

/** What counts as refunded of an order, pending refunds too. */
export const addRefunded = ({ tx }: Applying, orderId: string, { amount, credits }: Share): Promise<OrderRow> =>
  tx
    .updateTable('payment_order')
    .set((order) => ({
      refunded_amount: order('refunded_amount', '+', amount),
      refunded_credits: order('refunded_credits', '+', credits),
    }))
    .where('id', '=', orderId)
    .returningAll()
    .executeTakeFirstOrThrow()
