import { grantCredits } from '@matte/core/credit/lot-queries'
import { findRefundable, refundCredits, returnRefunded } from '@matte/core/credit/refund-credits'
import type { Db } from '@matte/core/db/database'
import type { Tables } from '@matte/core/db/tables/index'
import { planNamed } from '@matte/core/workspace/plan'
import type { Selectable } from 'kysely'
import type { OrderRow } from '../order-queries.ts'
import { isInForceAt, type PeriodRow } from '../subscription-queries.ts'
import type { ApplyContext } from './apply-context.ts'
import { monthsToCome } from './windows.ts'

export type RefundRow = Selectable<Tables['refund']>

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

export const refundCheckSeconds = 60

/** Inserts a refund and takes its credits back before the money moves. Credits under refund cannot be spent. */
export async function insertRefund(context: ApplyContext, order: OrderRow, refund: NewRefund): Promise<RefundRow> {
  const { tx, workspaceId, now } = context
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
  await takeCredits(context, row)
  await addRefunded(context, order.id, { amount, credits })
  return row
}

type Share = { readonly amount: number; readonly credits: number }

/** Adds to the refunded totals of an order, which include pending refunds. */
export const addRefunded = ({ tx }: ApplyContext, orderId: string, { amount, credits }: Share): Promise<OrderRow> =>
  tx
    .updateTable('payment_order')
    .set((order) => ({
      refunded_amount: order('refunded_amount', '+', amount),
      refunded_credits: order('refunded_credits', '+', credits),
    }))
    .where('id', '=', orderId)
    .returningAll()
    .executeTakeFirstOrThrow()

type Left = { readonly ofLot: number; readonly toCome: number }

export async function findAvailable(context: ApplyContext, order: OrderRow): Promise<Left> {
  const { tx, workspaceId } = context
  const ofLot = order.lot_id === null ? 0 : ((await findRefundable(tx, workspaceId, order.lot_id)) ?? 0)
  return { ofLot, toCome: await findToCome(context, order.id) }
}

async function findToCome({ tx, plans, now }: ApplyContext, orderId: string): Promise<number> {
  const period = await findPeriod(tx, orderId)
  if (period === undefined || !(await isInForceAt(tx, period, now))) return 0
  return Math.max(0, monthsToCome(period).length * planNamed(plans, period.plan).credits - period.withheld)
}

const findPeriod = (tx: Db, orderId: string): Promise<PeriodRow | undefined> =>
  tx.selectFrom('subscription_period').selectAll().where('order_id', '=', orderId).executeTakeFirst()

type Taking = { readonly id: string; readonly order_id: string; readonly credits: number; readonly withheld: number }
type Taken = Taking & { readonly lot_id: string | null }

export async function takeCredits({ tx, workspaceId }: ApplyContext, refund: Taken): Promise<void> {
  const { id, lot_id: lotId, credits, withheld } = refund
  const amount = credits - withheld
  if (amount > 0 && lotId !== null) await refundCredits(tx, { workspaceId, lotId, amount, reference: `refund:${id}` })
  if (withheld > 0) await addWithheld(tx, refund.order_id, withheld)
}

/** Reverses `takeCredits`. Credits of months already granted without them return as one lot of the period. */
export async function giveBackCredits({ tx, workspaceId, now }: ApplyContext, refund: Taken): Promise<void> {
  const { id, lot_id: lotId, credits, withheld, order_id } = refund
  const source = `refund:${id}:returned`
  const amount = credits - withheld
  if (amount > 0 && lotId !== null) await returnRefunded(tx, { workspaceId, lotId, amount, reference: source })
  const period = withheld > 0 ? await findPeriod(tx, order_id) : undefined
  if (period === undefined) return
  const still = Math.min(period.withheld, withheld)
  await addWithheld(tx, order_id, -still)
  const lost = (await isInForceAt(tx, period, now)) ? withheld - still : withheld
  if (lost === 0) return
  const late = { kind: 'plan', amount: lost, expiresAt: period.ends_at, source }
  await grantCredits(tx, { workspaceId, ...late })
}

const addWithheld = (tx: Db, orderId: string, credits: number) =>
  tx
    .updateTable('subscription_period')
    .set((period) => ({ withheld: period('withheld', '+', credits) }))
    .where('order_id', '=', orderId)
    .execute()
