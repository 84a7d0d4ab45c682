import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'

/**
 * Locks the person's row: after workspaces, before the rows of that person. References to it can still be made.
 * @throws MatteError AUTH_INVALID_TOKEN: erased since the request was let in
 */
export async function lockPerson(tx: Db, userId: string): Promise<{ readonly email: string }> {
  const person = await tx
    .selectFrom('app_user')
    .select('email')
    .where('id', '=', userId)
    .where('erased_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (person === undefined) throw new MatteError('AUTH_INVALID_TOKEN', 'This account was deleted.')
  return person
}

/** Nothing of the row says who it was, and its address can be registered again; what refers to it stays. */
export async function anonymise(tx: Db, userId: string): Promise<void> {
  await sql`
    update app_user
       set email = 'erased-' || id || '@erased.invalid', email_key = null, email_verified_at = null,
           password_hash = null, name = null, locale = default, time_zone = default, avatar_url = null,
           referral_code = null, registered_from = null, erased_at = now()
     where id = ${userId}`.execute(tx)
}
