// Rows of a session and its tokens.
import type { Db } from '@matte/core/db/database'
import { hashRefreshToken } from '@matte/people/identity/session/refresh-token'
import { decodeJwt } from 'jose'
import { sql } from 'kysely'

/** Changes the row as if the token had been used this long ago. */
export const letTokenPass = (db: Db, { refreshToken, seconds }: { refreshToken: string; seconds: number }) =>
  db
    .updateTable('refresh_token')
    .set({ spent_at: sql<Date>`spent_at - ${seconds} * interval '1 second'` })
    .where('hash', '=', hashRefreshToken(refreshToken))
    .execute()

export const sessionOfToken = (db: Db, { accessToken }: { readonly accessToken: string }) =>
  db
    .selectFrom('session')
    .selectAll()
    .where('id', '=', String(decodeJwt(accessToken).sid))
    .executeTakeFirstOrThrow()

/** Changes the row as if the session's last proof had been this long ago. */
export const letProofPass = (db: Db, { sessionId, seconds }: { sessionId: string; seconds: number }) =>
  db
    .updateTable('session')
    .set({ proved_at: sql<Date>`now() - ${seconds} * interval '1 second'` })
    .where('id', '=', sessionId)
    .execute()

/** Changes the row as if the session had last been used this long ago. */
export const letUsePass = (db: Db, { sessionId, minutes }: { sessionId: string; minutes: number }) =>
  db
    .updateTable('session')
    .set({ last_used_at: sql<Date>`now() - ${minutes} * interval '1 minute'` })
    .where('id', '=', sessionId)
    .execute()
