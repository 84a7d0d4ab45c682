import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { countRows, type ListTotal, type PageRequest } from '../../db/page.ts'
import { hashRefreshToken } from './refresh-token.ts'

const now = sql<Date>`now()`

const live = (db: Db, userId: string) =>
  db.selectFrom('session').where('user_id', '=', userId).where('ended_at', 'is', null).where('expires_at', '>', now)

/** Somebody's sessions that count, the newest first. */
export function listSessions(db: Db, userId: string, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return live(db, userId)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(created_at, id) < (${at}, ${after?.id}::uuid)`))
    .select(['id', 'created_at', 'last_used_at', 'user_agent'])
    .select(sql<string | null>`host(ip_address)`.as('ip_address'))
    .select(sql<string>`(extract(epoch from created_at) * 1000000)::bigint::text`.as('created_at_micros'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(after === undefined ? offset : 0)
    .execute()
}

export type ListedSession = Awaited<ReturnType<typeof listSessions>>[number]

export const countSessions = (db: Db, userId: string): Promise<ListTotal> =>
  countRows(db, live(db, userId).select('id'))

/** False: no session of this person that counts. In force on every replica within 5 s (D14). */
export async function endSession(db: Db, userId: string, sessionId: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('session')
    .set({ ended_at: now })
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** All sessions of a person, but for one if it is named; returns how many. */
export async function endSessions(tx: Db, userId: string, { except }: { readonly except?: string } = {}) {
  const { numUpdatedRows } = await tx
    .updateTable('session')
    .set({ ended_at: now })
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .$if(except !== undefined, (query) => query.where('id', '!=', except as string))
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** The family of a refresh token, whichever of its tokens it is, if it is this person's. */
export async function findFamily(db: Db, userId: string, refreshToken: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('refresh_token as t')
    .innerJoin('session as s', 's.id', 't.session_id')
    .select('s.id')
    .where('t.hash', '=', hashRefreshToken(refreshToken))
    .where('s.user_id', '=', userId)
    .executeTakeFirst()
  return row?.id
}
