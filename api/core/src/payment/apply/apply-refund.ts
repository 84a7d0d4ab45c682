import { sql } from 'kysely'
import { publishEvent } from '../../notification/publish-event.ts'
import type { RefundFacts } from '../provider/provider.ts'
import { findOrderBy, type OrderRow, updateOrder } from '../rows/order-queries.ts'
import type { Applying } from './applying.ts'
import { findLeft, giveBackCredits } from './credits-left.ts'
import { addRefunded, insertRefund, type RefundRow, refundableOf } from './insert-refund.ts'
import { issueCorrection, issueCreditNote } from './issue-invoice.ts'
import { refreshPlan } from './plan-in-force.ts'
import { creditsForRefund } from './refund-share.ts'

/** A refund only ever goes up this list: pending, succeeded, failed. Banks give money back even after success. */
export async function applyRefund(applying: Applying, order: OrderRow, facts: RefundFacts): Promise<void> {
  const refund =
    (await findKnown(applying, facts)) ??
    (await findReplaced(applying, order, facts)) ??
    (await noteRefund(applying, order, facts))
  if (refund === undefined) return
  if (refund.provider_refund_id === null) await saveProviderId(applying, refund.id, facts.id)
  if (refund.status === 'failed' || facts.status === 'pending') return
  if (facts.status === 'failed') return failRefund(applying, refund, facts.failure ?? 'The refund failed.')
  if (refund.status === 'succeeded') return
  await endRefund(applying, refund.id, { status: 'succeeded' })
  const current = await readOrder(applying, order.id)
  await setOrderStatus(applying, current)
  await issueCreditNote(applying, current, refund)
  await publishRefund(applying, refund)
  if (current.subscription_id !== null) await refreshPlan(applying)
  applying.metrics?.count('refunded')
}

const findKnown = ({ tx }: Applying, { id, refundId }: RefundFacts): Promise<RefundRow | undefined> =>
  tx
    .selectFrom('refund')
    .selectAll()
    .where((where) => where.or([where('provider_refund_id', '=', id), where('id', '=', refundId)]))
    .executeTakeFirst()

/** From now on the refund is read at the provider, and not asked for again. */
const saveProviderId = ({ tx }: Applying, id: string, provider_refund_id: string) =>
  tx.updateTable('refund').set({ provider_refund_id }).where('id', '=', id).execute()

/**
 * The refund that waits for the provider, if an operator made the same one in the dashboard. The payment has
 * not enough left for both, so the provider would refuse ours.
 */
async function findReplaced(
  { tx }: Applying,
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

/** One that was made at the provider itself: as many of its credits as are left go with it. */
async function noteRefund(applying: Applying, order: OrderRow, facts: RefundFacts): Promise<RefundRow | undefined> {
  const left = await findLeft(applying, order)
  const amount = Math.min(facts.amount, order.amount - order.refunded_amount)
  if (amount <= 0) return undefined
  const credits = Math.min(left.ofLot + left.toCome, creditsForRefund(refundableOf(order, left), amount))
  return insertRefund(applying, order, {
    amount,
    credits,
    left,
    reason: 'Made at the payment provider',
    providerRefundId: facts.id,
    createdBy: null,
  })
}

/** The money stays here, so the credits come back, and what was noted of it is corrected. */
export async function failRefund(applying: Applying, refund: RefundRow, failure: string): Promise<void> {
  const { id, amount, credits, order_id } = refund
  await endRefund(applying, id, { status: 'failed', failure })
  await giveBackCredits(applying, refund)
  applying.metrics?.count('refund_failed')
  const order = await addRefunded(applying, order_id, { amount: -amount, credits: -credits })
  await setOrderStatus(applying, order)
  if (refund.status === 'succeeded') await issueCorrection(applying, order, id)
  if (order.subscription_id !== null) await refreshPlan(applying)
}

type Ended = { status: 'succeeded' | 'failed'; failure?: string }

const endRefund = ({ tx, now }: Applying, id: string, ended: Ended) =>
  tx
    .updateTable('refund')
    .set({ ...ended, completed_at: now, check_at: null })
    .where('id', '=', id)
    .execute()

/** By what has been refunded in fact. */
async function setOrderStatus({ tx }: Applying, { id, amount }: OrderRow): Promise<void> {
  const { refunded } = await tx
    .selectFrom('refund')
    .select(sql<number>`coalesce(sum(amount), 0)::bigint`.as('refunded'))
    .where('order_id', '=', id)
    .where('status', '=', 'succeeded')
    .executeTakeFirstOrThrow()
  const status = refunded === 0 ? 'paid' : refunded === amount ? 'refunded' : 'partially_refunded'
  await updateOrder(tx, id, { status })
}

async function readOrder({ tx }: Applying, id: string): Promise<OrderRow> {
  const order = await findOrderBy(tx, 'id', id)
  if (order === undefined) throw new Error('a refund without its order')
  return order
}

async function publishRefund({ tx, workspaceId }: Applying, refund: RefundRow): Promise<void> {
  const { id, order_id, amount, currency } = refund
  const about = { key: id, workspaceId, userId: null }
  // As in the ledger: what was still to be granted was never there.
  const credits = refund.credits - refund.withheld
  if (credits > 0) {
    const fields = { amount: credits, message: `${credits} credits were taken back with a refund.` }
    await publishEvent(tx, { event: 'credits.refunded', fields, ...about })
  }
  const fields = { refund_id: id, order_id, amount, currency, message: 'The refund has been made.' }
  await publishEvent(tx, { event: 'refund.succeeded', fields, ...about })
}
