import type { Db } from '../../db/database.ts'
import { hashRefreshToken } from './refresh-token.ts'

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
