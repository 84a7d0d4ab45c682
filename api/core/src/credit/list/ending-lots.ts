import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'

const ends = sql<Date>`greatest(expires_at, grace_until)`

/** Lots that end within so many days are shown as alerts. */
const endingDays = 30
/** More of them at once than anybody reads. */
export const endingLotsMax = 1_000

/** Lots with something available that end within `endingDays`, the next to end first. */
export function listEndingLots(db: Db, workspaceId: string) {
  return db
    .selectFrom('credit_lot')
    .where('workspace_id', '=', workspaceId)
    .where('has_available', '=', true)
    .where(sql<boolean>`${ends} > now() and ${ends} <= now() + ${sql.lit(endingDays)} * interval '1 day'`)
    .select(['id', 'kind', 'available'])
    .select(ends.as('endsAt'))
    .select(sql<number>`floor(extract(epoch from ${ends} - now()) / 86400)::int`.as('daysLeft'))
    .orderBy('endsAt')
    .orderBy('id')
    .limit(endingLotsMax)
    .execute()
}

export type EndingLot = Awaited<ReturnType<typeof listEndingLots>>[number]
