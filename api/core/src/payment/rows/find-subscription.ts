import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { findLatestPeriod, type SubscriptionRow } from './subscription-queries.ts'

/** A subscription as people see it. */
type ShownSubscription = {
  readonly id: string
  /** `incomplete` ones, whose first charge is still open, are not shown. */
  readonly status: 'active' | 'past_due' | 'canceled'
  /** What was paid for; while nothing was, what was ordered. */
  readonly plan: string
  readonly interval: 'month' | 'year'
  readonly periodStart: Date
  readonly periodEnd: Date
  readonly cancelAtPeriodEnd: boolean
  /** The plan of the next period, where that is another. */
  readonly nextPlan: string | null
  readonly endedAt: Date | null
}

/** The workspace's latest subscription, ended or not. Undefined: it never had one. */
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
    nextPlan: row.plan === plan || row.cancel_at_period_end || row.status === 'canceled' ? null : row.plan,
    endedAt: row.ended_at,
  }
}

/** One that lives comes before those that have ended, then the latest. */
const findLatest = (db: Db, workspaceId: string): Promise<SubscriptionRow | undefined> =>
  db
    .selectFrom('subscription')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy(sql`ended_at is null`, 'desc')
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
