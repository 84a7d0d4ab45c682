import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '../../db/page.ts'

const ends = sql<Date | null>`greatest(expires_at, grace_until)`

const lotColumns = [
  ...(['id', 'kind', 'priority', 'expires_at', 'created_at'] as const),
  ...(['granted', 'available', 'held', 'spent', 'expired', 'refunded', 'adjusted'] as const),
] as const

/** Lots of a workspace, newest first. `endsAt` is later than `expires_at` in a grace period. */
export function listLots(db: Db, workspaceId: string, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return db
    .selectFrom('credit_lot')
    .where('workspace_id', '=', workspaceId)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(created_at, id) < (${at}, ${after?.id}::uuid)`))
    .select(lotColumns)
    .select(ends.as('endsAt'))
    .select(sql<string>`(extract(epoch from created_at) * 1000000)::bigint::text`.as('created_at_micros'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
    .execute()
}

export type LotRow = Awaited<ReturnType<typeof listLots>>[number]

export function countLots(db: Db, workspaceId: string): Promise<ListTotal> {
  return countRows(db, db.selectFrom('credit_lot').where('workspace_id', '=', workspaceId).select('id'))
}

const endsSoon = sql<Date>`greatest(expires_at, grace_until)`

/** Horizon of the alerts, in days. */
const endingDays = 30
/** Upper bound for the response. */
export const endingLotsMax = 1_000

/** Lots with available credits that end within 30 days, the next to end first. */
export function listEndingLots(db: Db, workspaceId: string) {
  return db
    .selectFrom('credit_lot')
    .where('workspace_id', '=', workspaceId)
    .where('has_available', '=', true)
    .where(sql<boolean>`${endsSoon} > now() and ${endsSoon} <= now() + ${sql.lit(endingDays)} * interval '1 day'`)
    .select(['id', 'kind', 'available'])
    .select(endsSoon.as('endsAt'))
    .select(sql<number>`floor(extract(epoch from ${endsSoon} - now()) / 86400)::int`.as('daysLeft'))
    .orderBy('endsAt')
    .orderBy('id')
    .limit(endingLotsMax)
    .execute()
}

export type EndingLot = Awaited<ReturnType<typeof listEndingLots>>[number]
