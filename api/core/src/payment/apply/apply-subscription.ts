import { publishEvent } from '../../notification/publish-event.ts'
import type { SubscriptionFacts } from '../provider/provider.ts'
import { findSubscriptionBy, type SubscriptionRow } from '../rows/subscription-queries.ts'
import type { Applying } from './applying.ts'

type Reading = { readonly facts: SubscriptionFacts; readonly reading: number }

/**
 * The subscription as the provider has it. A reading that began before the one that the row shows changes nothing: what
 * it saw may be older. The reading that the last event causes begins after the last change, so the row ends as that is.
 */
export async function applySubscription(applying: Applying, { facts, reading }: Reading): Promise<SubscriptionRow> {
  const { tx, workspaceId, provider } = applying
  const columns = {
    plan: facts.plan,
    billing_interval: facts.interval,
    status: facts.status,
    period_start: facts.periodStart,
    period_end: facts.periodEnd,
    cancel_at_period_end: facts.cancelAtPeriodEnd,
    ended_at: facts.status === 'canceled' ? (facts.endedAt ?? applying.now) : null,
    reading,
    check_at: facts.status === 'canceled' ? null : applying.now,
  }
  const before = await findSubscriptionBy(tx, 'provider_id', facts.id)
  if (before === undefined) {
    return tx
      .insertInto('subscription')
      .values({ ...columns, workspace_id: workspaceId, provider, provider_id: facts.id })
      .returningAll()
      .executeTakeFirstOrThrow()
  }
  if (before.reading > reading) return before
  const after = await tx
    .updateTable('subscription')
    .set(columns)
    .where('id', '=', before.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  await publishChanges(applying, before, after)
  return after
}

/** What members did, here or at the provider (D72): told by what became different, so once. */
async function publishChanges(
  { tx, workspaceId }: Applying,
  before: SubscriptionRow,
  after: SubscriptionRow,
): Promise<void> {
  const about = { key: `${after.id}:${after.reading}`, workspaceId, userId: null }
  const isEnding = ({ cancel_at_period_end, status }: SubscriptionRow): boolean =>
    cancel_at_period_end || status === 'canceled'
  if (isEnding(after) && !isEnding(before)) {
    const end = (after.ended_at ?? after.period_end).toISOString()
    const fields = { period_end: end, message: `The subscription ends on ${end.slice(0, 10)}.` }
    return publishEvent(tx, { event: 'subscription.canceled', fields, ...about })
  }
  const changed = after.plan !== before.plan || after.billing_interval !== before.billing_interval
  const message = changed
    ? `The subscription changes to ${after.plan} by the ${after.billing_interval}.`
    : `The subscription to ${after.plan} goes on.`
  if (changed || (isEnding(before) && !isEnding(after))) {
    await publishEvent(tx, { event: 'subscription.updated', fields: { plan: after.plan, message }, ...about })
  }
}
