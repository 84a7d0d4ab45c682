import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { PeriodRow } from './subscription-queries.ts'

/** Whether a period counts at a time: not where a change has taken its place, or the subscription has ended. */
export async function isInForceAt(db: Db, { subscription_id, starts_at }: PeriodRow, at: Date): Promise<boolean> {
  const { rows } = await sql<{ inForce: boolean }>`
    select not exists (select from subscription_period
                        where subscription_id = ${subscription_id} and starts_at > ${starts_at} and starts_at <= ${at})
       and not exists (select from subscription where id = ${subscription_id} and ended_at <= ${at}) as "inForce"
    `.execute(db)
  return rows[0]?.inForce === true
}
