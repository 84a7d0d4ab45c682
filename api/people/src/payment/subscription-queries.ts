import type { Db } from '@matte/core/db/database'
import type { Tables } from '@matte/core/db/tables/index'
import { type Selectable, sql } from 'kysely'
import { hasOpenDispute } from './dispute-queries.ts'
import { findOrderBy } from './order-queries.ts'

export type SubscriptionRow = Selectable<Tables['subscription']>
export type PeriodRow = Selectable<Tables['subscription_period']>

export const findLatestPeriod = (db: Db, subscriptionId: string): Promise<PeriodRow | undefined> =>
  db
    .selectFrom('subscription_period')
    .selectAll()
    .where('subscription_id', '=', subscriptionId)
    .orderBy('starts_at', 'desc')
    // With times in seconds, a change may start in the same second as the period it replaces.
    .orderBy(sql`from_plan is not null`, 'desc')
    .limit(1)
    .executeTakeFirst()

export const findSubscriptionBy = (
  db: Db,
  column: 'id' | 'provider_id',
  value: string,
): Promise<SubscriptionRow | undefined> =>
  db.selectFrom('subscription').selectAll().where(column, '=', value).executeTakeFirst()

export const listUnended = (db: Db, workspaceId: string): Promise<SubscriptionRow[]> =>
  db
    .selectFrom('subscription')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('ended_at', 'is', null)
    .orderBy('created_at', 'desc')
    .execute()

type ShownSubscription = {
  readonly id: string
  /** Subscriptions with an open first charge are hidden. */
  readonly status: 'active' | 'past_due' | 'canceled'
  /** The paid plan; the ordered plan before the first payment. */
  readonly plan: string
  readonly interval: 'month' | 'year'
  readonly periodStart: Date
  readonly periodEnd: Date
  readonly cancelAtPeriodEnd: boolean
  /** A payment is disputed at present. */
  readonly disputed: boolean
  /** Plan of the next period if it differs. */
  readonly nextPlan: string | null
  readonly endedAt: Date | null
}

export async function findSubscription(db: Db, workspaceId: string): Promise<ShownSubscription | undefined> {
  const row = await findLatest(db, workspaceId)
  if (row === undefined || row.status === 'incomplete') return undefined
  const paid = await findLatestPeriod(db, row.id)
  const plan = paid?.plan ?? row.plan
  return {
    id: row.id,
    status: row.status,
    plan,
    interval: paid?.billing_interval ?? row.billing_interval,
    periodStart: row.period_start,
    periodEnd: row.period_end,
    cancelAtPeriodEnd: row.cancel_at_period_end,
    disputed: await hasOpenDispute(db, row.id),
    nextPlan: row.plan === plan || row.cancel_at_period_end || row.status === 'canceled' ? null : row.plan,
    endedAt: row.ended_at,
  }
}

const findLatest = (db: Db, workspaceId: string): Promise<SubscriptionRow | undefined> =>
  db
    .selectFrom('subscription')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy(sql`ended_at is null`, 'desc')
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()

/** Whether a period applies at a time: no later change has replaced it, and the subscription has not ended. */
export async function isInForceAt(db: Db, { subscription_id, starts_at }: PeriodRow, at: Date): Promise<boolean> {
  const { rows } = await sql<{ inForce: boolean }>`
    select not exists (select from subscription_period
                        where subscription_id = ${subscription_id} and starts_at > ${starts_at} and starts_at <= ${at})
       and not exists (select from subscription where id = ${subscription_id} and ended_at <= ${at}) as "inForce"
    `.execute(db)
  return rows[0]?.inForce === true
}

/** Whether a member's change is in progress at the provider. Locks the row for the transaction. */
export async function isChanging(tx: Db, subscriptionId: string): Promise<boolean> {
  const { changing } = await tx
    .selectFrom('subscription')
    .select(sql<boolean>`coalesce(claimed_until > now(), false)`.as('changing'))
    .where('id', '=', subscriptionId)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return changing
}

/**
 * How the payment of the latest period was returned: by a full refund, or by a lost dispute. Undefined also if the
 * provider has started a newer period.
 */
export async function findPaidBack(
  db: Db,
  { status, period_start }: Pick<SubscriptionRow, 'status' | 'period_start'>,
  { order_id, ends_at }: Pick<PeriodRow, 'order_id' | 'ends_at'>,
): Promise<'refunded' | 'lost' | undefined> {
  if (status === 'active' && period_start >= ends_at) return undefined
  const order = await findOrderBy(db, 'id', order_id)
  if (order?.status === 'refunded') return 'refunded'
  return order?.dispute === 'lost' ? 'lost' : undefined
}

/** Whether renewals must be stopped for an open dispute, or resumed after it. */
export async function hasRenewalToChange(db: Db, subscription: SubscriptionRow): Promise<boolean> {
  const { id, cancel_at_period_end: isStopped, stopped_by_dispute: byDispute } = subscription
  return (await hasOpenDispute(db, id)) ? !isStopped : byDispute
}
