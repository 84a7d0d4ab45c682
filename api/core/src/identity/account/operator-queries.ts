// What an operator does to accounts, by matte-admin.
import { sql } from 'kysely'
import { foldAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import { hasOpenInvite } from '../../workspace/open-invite.ts'
import { endSessions } from '../session/session-queries.ts'

export async function findUserByEmail(db: Db, email: string) {
  return db
    .selectFrom('app_user as u')
    .leftJoin('workspace as w', 'w.personal_of', 'u.id')
    .select([
      'u.id',
      'u.email',
      'u.name',
      'u.created_at',
      'u.email_verified_at',
      'u.disabled_at',
      'w.id as workspaceId',
    ])
    .select((select) =>
      select
        .selectFrom('session as s')
        .select((count) => count.fn.countAll<number>().as('live'))
        .whereRef('s.user_id', '=', 'u.id')
        .where('s.ended_at', 'is', null)
        .where('s.expires_at', '>', sql<Date>`now()`)
        .as('sessions'),
    )
    .where('u.email_key', '=', foldAddress(email))
    .where('u.erased_at', 'is', null)
    .executeTakeFirst()
}

/** Also ends the sessions, so that enabling brings back no token. False: no such account. */
export function disableUser(db: Db, userId: string): Promise<boolean> {
  return db.transaction().execute(async (tx) => {
    const row = await tx
      .updateTable('app_user')
      .set({ disabled_at: sql<Date>`coalesce(disabled_at, now())` })
      .where('id', '=', userId)
      .where('erased_at', 'is', null)
      .returning('id')
      .executeTakeFirst()
    if (row !== undefined) await endSessions(tx, userId)
    return row !== undefined
  })
}

/** False: no such account. */
export async function enableUser(db: Db, userId: string): Promise<boolean> {
  const row = await db
    .updateTable('app_user')
    .set({ disabled_at: null })
    .where('id', '=', userId)
    .where('erased_at', 'is', null)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** The address may register where that is by invitation. Asked again it changes nothing. */
export async function inviteToRegister(db: Db, email: string): Promise<void> {
  await db
    .insertInto('registration_invite')
    .values({ email: foldAddress(email) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** By an operator, or by a team (D73). */
export async function isInvited(tx: Db, email: string): Promise<boolean> {
  const row = await tx
    .selectFrom('registration_invite')
    .select('email')
    .where('email', '=', foldAddress(email))
    .executeTakeFirst()
  return row !== undefined || hasOpenInvite(tx, email)
}
