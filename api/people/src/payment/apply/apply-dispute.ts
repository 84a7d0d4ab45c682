import type { Tables } from '@matte/core/db/tables/index'
import { publishEvent } from '@matte/core/webhook/publish-event'
import type { Selectable } from 'kysely'
import type { OrderRow } from '../order-queries.ts'
import type { DisputeFacts } from '../provider/provider.ts'
import type { ApplyContext } from './apply-context.ts'
import { settleDisputes } from './settle-disputes.ts'

type DisputeRow = Selectable<Tables['payment_dispute']>

type Reading = { readonly facts: DisputeFacts; readonly reading: number }

/**
 * Pause in hours between checks with the provider, because the event of a decision may be lost. A lost dispute is
 * checked again while tasks may release credits of the payment.
 */
const checkHours = 6

/** An older reading changes nothing. The last event's reading starts after the last change, so the row converges. */
export async function applyDispute(context: ApplyContext, order: OrderRow, { facts, reading }: Reading): Promise<void> {
  const { tx, provider, now } = context
  const before = await tx
    .selectFrom('payment_dispute')
    .selectAll()
    .where('provider', '=', provider)
    .where('provider_id', '=', facts.id)
    .executeTakeFirst()
  if (before === undefined && facts.status === 'none') return
  if (before !== undefined && before.reading > reading) return
  // A dispute that became an inquiry again, or was prevented, takes no money.
  const status = facts.status === 'none' ? 'won' : facts.status
  const { reason, amount, currency } = facts
  const closed_at = status === 'open' ? null : (before?.closed_at ?? now)
  const columns = {
    ...{ status, reason, amount, currency, reading, closed_at },
    check_at: status === 'won' ? null : nextCheck(now),
  }
  const row = await tx
    .insertInto('payment_dispute')
    .values({ workspace_id: context.workspaceId, order_id: order.id, provider, provider_id: facts.id, ...columns })
    .onConflict((conflict) => conflict.columns(['provider', 'provider_id']).doUpdateSet(columns))
    .returningAll()
    .executeTakeFirstOrThrow()
  const settled = await settleDisputes(context, order)
  if (before?.status !== status) await publish(context, row, settled)
}

export const nextCheck = (now: Date): Date => new Date(now.getTime() + checkHours * 60 * 60 * 1_000)

async function publish(context: ApplyContext, dispute: DisputeRow, order: OrderRow): Promise<void> {
  const { tx, workspaceId, metrics } = context
  const { id, status, order_id, amount, currency, reason } = dispute
  const about = { key: `${id}:${dispute.reading}`, workspaceId, userId: null }
  const fields = { dispute_id: id, order_id, amount, currency, credits: order.dispute_credits }
  if (status === 'open') {
    metrics?.count('disputed')
    const message = `The payment for ${order.description} is disputed (${reason}). Its unspent credits are held.`
    return publishEvent(tx, { event: 'payment.disputed', fields: { ...fields, reason, message }, ...about })
  }
  metrics?.count(status === 'won' ? 'dispute_won' : 'dispute_lost')
  const message =
    status === 'won'
      ? `The dispute of ${order.description} was decided for the payment. Its credits can be spent again.`
      : `The dispute of ${order.description} returned the payment. Its unspent credits were taken back.`
  return publishEvent(tx, {
    event: 'payment.dispute_closed',
    fields: { ...fields, outcome: status, message },
    ...about,
  })
}
