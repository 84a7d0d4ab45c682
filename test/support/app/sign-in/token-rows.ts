// Rows of a session's tokens.
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
