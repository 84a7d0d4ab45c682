// Registrations whose link was not followed yet (D92).
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { hashMailToken } from './mail-token.ts'

type PendingRegistration = {
  readonly userId: string
  readonly email: string
  /** Null: no password opens the account, so its owner sets one by a reset. */
  readonly passwordHash: string | null
}

/** The registration whose link has this token, while the token works. */
export async function findRegistration(db: Db, token: string): Promise<PendingRegistration | undefined> {
  return db
    .selectFrom('mail_token as t')
    .innerJoin('app_user as u', 'u.id', 't.user_id')
    .select(['u.id as userId', 'u.email'])
    .select((eb) => eb.fn.coalesce('t.password_hash', 'u.password_hash').as('passwordHash'))
    .where('t.hash', '=', hashMailToken(token))
    .where('t.purpose', '=', 'verify-email')
    .where('t.expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
}

/** Links that verify the address work with the account's password from now on, instead of their registration's. */
export async function dropRegisteredPasswords(tx: Db, userId: string): Promise<void> {
  await tx
    .updateTable('mail_token')
    .set({ password_hash: null })
    .where('user_id', '=', userId)
    .where('purpose', '=', 'verify-email')
    .execute()
}
