import { publishEvent } from '../../notification/publish-event.ts'
import type { SubscriptionFacts } from '../provider/provider.ts'
import { findSubscriptionBy, type SubscriptionRow } from '../rows/subscription-queries.ts'
import type { Applying } from './applying.ts'

type Applied = { readonly before: SubscriptionRow; readonly after: SubscriptionRow }
type Reading = { readonly facts: SubscriptionFacts; readonly reading: number }

/**
 * The subscription as the provider has it. A reading that began before the one that the row shows changes nothing: what
 * it saw may be older. The reading that the last event causes begins after the last change, so the row ends as that is.
 */
export async function applySubscription(applying: Applying, { facts, reading }: Reading): Promise<Applied> {
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
  await publishEnding(applying, before, after)
  return { before, after }
}

/** Publishes the end that a member or the provider has set; it is seen by what became different, so once. */
async function publishEnding(
  { tx, workspaceId }: Applying,
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
