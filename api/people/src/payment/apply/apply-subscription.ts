import { randomUUID } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { notifyOnly, publishEvent } from '@matte/core/webhook/publish-event'
import type { SubscriptionFacts } from '../provider/provider.ts'
import { findLatestPeriod, findSubscriptionBy, isChanging, type SubscriptionRow } from '../subscription-queries.ts'
import type { ApplyContext } from './apply-context.ts'

type Applied = { readonly before: SubscriptionRow; readonly after: SubscriptionRow }
type Reading = { readonly facts: SubscriptionFacts; readonly reading: number }

/** An older reading changes nothing. The last event's reading starts after the last change, so the row converges. */
export async function applySubscription(context: ApplyContext, { facts, reading }: Reading): Promise<Applied> {
  const { tx, workspaceId, provider } = context
  const columns = {
    plan: facts.plan,
    billing_interval: facts.interval,
    status: facts.status,
    period_start: facts.periodStart,
    period_end: facts.periodEnd,
    cancel_at_period_end: facts.cancelAtPeriodEnd,
    ended_at: facts.status === 'canceled' ? (facts.endedAt ?? context.now) : null,
    reading,
    check_at: facts.status === 'canceled' ? null : context.now,
  }
  const before = await findSubscriptionBy(tx, 'provider_id', facts.id)
  if (before === undefined) {
    const inserted = await tx
      .insertInto('subscription')
      .values({ ...columns, workspace_id: workspaceId, provider, provider_id: facts.id })
      .returningAll()
      .executeTakeFirstOrThrow()
    return { before: inserted, after: inserted }
  }
  if (before.reading > reading) return { before, after: before }
  const after = await tx
    .updateTable('subscription')
    .set(columns)
    .where('id', '=', before.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  await publishEnding(context, before, after)
  return { before, after }
}

async function publishEnding(
  { tx, workspaceId }: ApplyContext,
  before: SubscriptionRow,
  after: SubscriptionRow,
): Promise<void> {
  if (!isEnding(after) || isEnding(before)) return
  const end = (after.ended_at ?? after.period_end).toISOString()
  const fields = { period_end: end, message: `The subscription ends on ${end.slice(0, 10)}.` }
  const key = `${after.id}:${after.reading}`
  await publishEvent(tx, { event: 'subscription.canceled', fields, key, workspaceId, userId: null })
}

export const isEnding = ({ cancel_at_period_end, status }: SubscriptionRow): boolean =>
  cancel_at_period_end || status === 'canceled'

type Seen = {
  readonly before: SubscriptionRow
  readonly after: SubscriptionRow
  readonly isCharged: boolean
}

/** Announces a change scheduled at the provider. A member's own change announces itself. */
export async function announceSeen({ tx }: ApplyContext, { before, after, isCharged }: Seen): Promise<void> {
  const isSame =
    before.plan === after.plan &&
    before.billing_interval === after.billing_interval &&
    isEnding(before) === isEnding(after)
  if (isSame || isCharged || isEnding(after) || (await isChanging(tx, after.id))) return
  await announceNext(tx, after.id)
}

/** Notifies the payers of the plan of the next payment. No webhook is sent: the current plan stays. */
export async function announceNext(tx: Db, subscriptionId: string): Promise<void> {
  const subscription = await findSubscriptionBy(tx, 'id', subscriptionId)
  const paid = await findLatestPeriod(tx, subscriptionId)
  if (subscription === undefined || paid === undefined) return
  const { plan: next, billing_interval: interval, workspace_id: workspaceId } = subscription
  const end = subscription.period_end.toISOString()
  const isKept = next === paid.plan && interval === paid.billing_interval
  const message = isKept
    ? `The subscription to ${next} continues.`
    : `The payment due on ${end.slice(0, 10)} is for ${next}, billed by the ${interval}. ` +
      `Until then the plan is ${paid.plan}.`
  const fields = { plan: paid.plan, next_plan: next, next_interval: interval, period_end: end, message }
  await notifyOnly(tx, { event: 'subscription.updated', fields, key: randomUUID(), workspaceId, userId: null })
}
