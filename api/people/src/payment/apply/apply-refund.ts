import { releaseDisputed } from '@matte/core/credit/disputed-credits'
import { publishEvent } from '@matte/core/webhook/publish-event'
import { sql } from 'kysely'
import { findOrderBy, type OrderRow, updateOrder } from '../order-queries.ts'
import type { RefundFacts } from '../provider/provider.ts'
import type { ApplyContext } from './apply-context.ts'
import {
  addRefunded,
  findAvailable,
  giveBackCredits,
  insertRefund,
  type RefundRow,
  refundableOf,
} from './insert-refund.ts'
import { issueCorrection, issueCreditNote } from './issue-invoice.ts'
import { refreshPlan } from './plan-in-force.ts'
import { creditsForRefund } from './refund-share.ts'
import { settleDisputes } from './settle-disputes.ts'

/** Refund states only advance: pending, succeeded, failed. A bank can return the money after success. */
export async function applyRefund(context: ApplyContext, order: OrderRow, facts: RefundFacts): Promise<void> {
  const refund =
    (await findKnown(context, facts)) ??
    (await findReplaced(context, order, facts)) ??
    (await recordRefund(context, order, facts))
  if (refund === undefined) return
  if (refund.provider_refund_id === null) await saveProviderId(context, refund.id, facts.id)
  if (refund.status === 'failed' || facts.status === 'pending') return
  if (facts.status === 'failed') return failRefund(context, refund, facts.failure ?? 'The refund failed.')
  if (refund.status === 'succeeded') return
  await endRefund(context, refund.id, { status: 'succeeded' })
  const current = await readOrder(context, order.id)
  await setOrderStatus(context, current)
  await issueCreditNote(context, current, refund)
  await publishRefund(context, refund)
  if (current.subscription_id !== null) await refreshPlan(context)
  context.metrics?.count('refunded')
}

const findKnown = ({ tx }: ApplyContext, { id, refundId }: RefundFacts): Promise<RefundRow | undefined> =>
  tx
    .selectFrom('refund')
    .selectAll()
    .where((where) => where.or([where('provider_refund_id', '=', id), where('id', '=', refundId)]))
    .executeTakeFirst()

/** With the provider's id, the refund is read at the provider instead of requested again. */
const saveProviderId = ({ tx }: ApplyContext, id: string, provider_refund_id: string) =>
  tx.updateTable('refund').set({ provider_refund_id }).where('id', '=', id).execute()

/** The pending refund that an operator's refund in the dashboard replaces: the payment does not cover both. */
async function findReplaced(
  { tx }: ApplyContext,
  order: OrderRow,
  { amount }: RefundFacts,
): Promise<RefundRow | undefined> {
  if (amount <= order.amount - order.refunded_amount) return undefined
  return tx
    .selectFrom('refund')
    .selectAll()
    .where('order_id', '=', order.id)
    .where('status', '=', 'pending')
    .where('provider_refund_id', 'is', null)
    .where('amount', '=', amount)
    .limit(1)
    .executeTakeFirst()
}

/** Records a refund made at the provider; takes back the proportional credits, as far as they are left. */
async function recordRefund(
  context: ApplyContext,
  order: OrderRow,
  facts: RefundFacts,
): Promise<RefundRow | undefined> {
  const amount = Math.min(facts.amount, order.amount - order.refunded_amount)
  if (amount <= 0) return undefined
  // Held credits count as left, as they would if the refund had become known before the dispute.
  if (order.dispute === 'open' && order.lot_id !== null) {
    await releaseDisputed(context.tx, { workspaceId: context.workspaceId, lotId: order.lot_id })
  }
  const left = await findAvailable(context, order)
  const credits = Math.min(left.ofLot + left.toCome, creditsForRefund(refundableOf(order, left), amount))
  const refund = await insertRefund(context, order, {
    amount,
    credits,
    left,
    reason: 'Made at the payment provider',
    providerRefundId: facts.id,
    createdBy: null,
  })
  if (order.dispute !== null) await settleDisputes(context, await readOrder(context, order.id))
  return refund
}

/** Returns the credits and corrects the order and its credit note, because the money was not paid back. */
export async function failRefund(context: ApplyContext, refund: RefundRow, failure: string): Promise<void> {
  const { id, amount, credits, order_id } = refund
  await endRefund(context, id, { status: 'failed', failure })
  await giveBackCredits(context, refund)
  context.metrics?.count('refund_failed')
  const order = await addRefunded(context, order_id, { amount: -amount, credits: -credits })
  await setOrderStatus(context, order)
  if (refund.status === 'succeeded') await issueCorrection(context, order, id)
  if (order.dispute !== null) await settleDisputes(context, order)
  if (order.subscription_id !== null) await refreshPlan(context)
}

type Ended = { status: 'succeeded' | 'failed'; failure?: string }

const endRefund = ({ tx, now }: ApplyContext, id: string, ended: Ended) =>
  tx
    .updateTable('refund')
    .set({ ...ended, completed_at: now, check_at: null })
    .where('id', '=', id)
    .execute()

async function setOrderStatus({ tx }: ApplyContext, { id, amount }: OrderRow): Promise<void> {
  const { refunded } = await tx
    .selectFrom('refund')
    .select(sql<number>`coalesce(sum(amount), 0)::bigint`.as('refunded'))
    .where('order_id', '=', id)
    .where('status', '=', 'succeeded')
    .executeTakeFirstOrThrow()
  const status = refunded === 0 ? 'paid' : refunded === amount ? 'refunded' : 'partially_refunded'
  await updateOrder(tx, id, { status })
}

async function readOrder({ tx }: ApplyContext, id: string): Promise<OrderRow> {
  const order = await findOrderBy(tx, 'id', id)
  if (order === undefined) throw new Error('the order of the refund was not found')
  return order
}

async function publishRefund({ tx, workspaceId }: ApplyContext, refund: RefundRow): Promise<void> {
  const { id, order_id, amount, currency } = refund
  const about = { key: id, workspaceId, userId: null }
  // As in the ledger, withheld credits of future months do not count.
  const credits = refund.credits - refund.withheld
  if (credits > 0) {
    const fields = { amount: credits, message: `${credits} credits were taken back with a refund.` }
    await publishEvent(tx, { event: 'credits.refunded', fields, ...about })
  }
  const fields = { refund_id: id, order_id, amount, currency, message: 'The refund was paid.' }
  await publishEvent(tx, { event: 'refund.succeeded', fields, ...about })
}
