// Derives an order's dispute from all disputes of its payment, and moves the credits accordingly. Idempotent: the
// result depends on the disputes, and not on the order in which they became known.
import { holdDisputed, releaseDisputed, returnTaken, takeDisputed } from '@matte/core/credit/disputed-credits'
import { forfeitCredits } from '@matte/core/credit/expire-credits'
import type { Db } from '@matte/core/db/database'
import { type OrderRow, updateOrder } from '../order-queries.ts'
import type { ApplyContext } from './apply-context.ts'
import { refreshPlan } from './plan-in-force.ts'

type Dispute = OrderRow['dispute']

export async function settleDisputes(context: ApplyContext, order: OrderRow): Promise<OrderRow> {
  const { tx } = context
  const dispute = await readDispute(tx, order.id)
  const credits = await moveCredits(context, order, dispute)
  const settled = await updateOrder(tx, order.id, { dispute, dispute_credits: credits })
  if (order.subscription_id !== null && dispute !== order.dispute) await refreshPlan(context)
  return settled
}

async function readDispute(tx: Db, orderId: string): Promise<Dispute> {
  const rows = await tx
    .selectFrom('payment_dispute')
    .select('status')
    .where('order_id', '=', orderId)
    .orderBy('created_at')
    .execute()
  const has = (status: Dispute): boolean => rows.some((row) => row.status === status)
  return (['open', 'lost', 'won'] as const).find(has) ?? null
}

/** Returns the credits that are held or taken afterwards. */
async function moveCredits({ tx, workspaceId }: ApplyContext, order: OrderRow, dispute: Dispute): Promise<number> {
  const { lot_id: lotId, dispute_credits: before } = order
  if (lotId === null) return 0
  const lot = { workspaceId, lotId }
  if (order.dispute === 'lost' && dispute !== 'lost') await returnTaken(tx, lot, before)
  if (dispute === 'won' || dispute === null) {
    await releaseDisputed(tx, lot)
    await forfeitIfDeleted(tx, workspaceId)
    return 0
  }
  const held = await holdDisputed(tx, lot)
  if (dispute === 'open') return held
  const taken = await takeDisputed(tx, lot)
  return order.dispute === 'lost' ? before + taken : taken
}

/** A deleted team has written its credits off. */
async function forfeitIfDeleted(tx: Db, workspaceId: string): Promise<void> {
  const { deleted_at } = await tx
    .selectFrom('workspace')
    .select('deleted_at')
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  if (deleted_at !== null) await forfeitCredits(tx, workspaceId)
}
