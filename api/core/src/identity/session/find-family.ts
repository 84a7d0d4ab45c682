import type { Db } from '../../db/database.ts'
import { findMember, type Member } from '../member-queries.ts'
import { hashRefreshToken } from './refresh-token.ts'

/** The session of a refresh token, spent or not. Undefined: unknown, or the session has ended. */
export async function findFamily(db: Db, refreshToken: string): Promise<Member | undefined> {
  const session = await db
    .selectFrom('refresh_token as t')
    .innerJoin('session as s', 's.id', 't.session_id')
    .select(['s.id', 's.workspace_id'])
    .where('t.hash', '=', hashRefreshToken(refreshToken))
    .executeTakeFirst()
  return session && findMember(db, session.id, session.workspace_id)
}
