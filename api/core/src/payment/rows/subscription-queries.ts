import { type Selectable, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { Tables } from '../../db/tables/index.ts'

export type SubscriptionRow = Selectable<Tables['subscription']>
export type PeriodRow = Selectable<Tables['subscription_period']>

/** What was paid for last. */
export const findLatestPeriod = (db: Db, subscriptionId: string): Promise<PeriodRow | undefined> =>
  db
    .selectFrom('subscription_period')
    .selectAll()
    .where('subscription_id', '=', subscriptionId)
    .orderBy('starts_at', 'desc')
    // A provider that counts in seconds may have a change in the same one as what it changes.
    .orderBy(sql`from_plan is not null`, 'desc')
    .limit(1)
    .executeTakeFirst()

export const findSubscriptionBy = (
  db: Db,
  column: 'id' | 'provider_id',
  value: string,
): Promise<SubscriptionRow | undefined> =>
  db.selectFrom('subscription').selectAll().where(column, '=', value).executeTakeFirst()

/** Those that have not ended. */
export const listLiving = (db: Db, workspaceId: string): Promise<SubscriptionRow[]> =>
  db
    .selectFrom('subscription')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('ended_at', 'is', null)
    .orderBy('created_at', 'desc')
    .execute()
