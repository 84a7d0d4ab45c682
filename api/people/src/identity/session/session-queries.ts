import type { Db } from '@matte/core/db/database'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '@matte/core/db/page'
import { sql } from 'kysely'
import { isInUse } from './open-sessions.ts'
import { deleteMfaTokens } from './pending-login.ts'

const now = sql<Date>`now()`

type Owner = { readonly userId: string; readonly sessionIdleHours: number }

const open = (db: Db, { userId, sessionIdleHours }: Owner) =>
  db
    .selectFrom('session')
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .where('expires_at', '>', now)
    .where(isInUse(sessionIdleHours))

export function listSessions(db: Db, owner: Owner, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return open(db, owner)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(created_at, id) < (${at}, ${after?.id}::uuid)`))
    .select(['id', 'created_at', 'last_used_at', 'user_agent'])
    .select(sql<string | null>`host(ip_address)`.as('ip_address'))
    .select(sql<string>`(extract(epoch from created_at) * 1000000)::bigint::text`.as('created_at_micros'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
    .execute()
}

export type ListedSession = Awaited<ReturnType<typeof listSessions>>[number]

export const countSessions = (db: Db, owner: Owner): Promise<ListTotal> => countRows(db, open(db, owner).select('id'))

/** Returns false if the user has no such live session. Every replica enforces it within 5 s. */
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

/** Ends a user's sessions, except one, and deletes pending second-factor logins. Returns the number of sessions. */
export async function endSessions(tx: Db, userId: string, { except }: { readonly except?: string } = {}) {
  await deleteMfaTokens(tx, userId)
  const { numUpdatedRows } = await tx
    .updateTable('session')
    .set({ ended_at: now })
    .where('user_id', '=', userId)
    .where('ended_at', 'is', null)
    .$if(except !== undefined, (query) => query.where('id', '!=', except as string))
    .executeTakeFirst()
  return Number(numUpdatedRows)
}
