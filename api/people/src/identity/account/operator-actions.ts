import { randomUUID } from 'node:crypto'
import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { sql } from 'kysely'
import { publishPersonalEvent } from '../../notification/publish-events.ts'
import { hasOpenInvite } from '../../team/open-invite.ts'
import { deleteMfaTokens } from '../session/pending-login.ts'
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
    .where('u.email_key', '=', foldAddress(email))
    .where('u.erased_at', 'is', null)
    .executeTakeFirst()
}

/** Also ends the sessions, so enabling restores no token. Returns false if the account does not exist. */
export function disableUser(db: Db, userId: string): Promise<boolean> {
  return inTransaction(db, async (tx) => {
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

/** Allows an address to register while registration is by invitation. Idempotent. */
export async function inviteToRegister(db: Db, email: string): Promise<void> {
  await db
    .insertInto('registration_invite')
    .values({ email: foldAddress(email) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function isInvited(tx: Db, email: string): Promise<boolean> {
  const row = await tx
    .selectFrom('registration_invite')
    .select('email')
    .where('email', '=', foldAddress(email))
    .executeTakeFirst()
  return row !== undefined || hasOpenInvite(tx, email)
}

/** Returns the number of ended sessions; undefined if there is no such account or its second factor is off. */
export function resetTwoFactor(db: Db, userId: string): Promise<number | undefined> {
  return inTransaction(db, async (tx) => {
    await deleteMfaTokens(tx, userId)
    const removed = await tx
      .deleteFrom('two_factor')
      .where('user_id', '=', userId)
      .where('enabled_at', 'is not', null)
      .returning('user_id')
      .executeTakeFirst()
    if (removed === undefined) return undefined
    const ended = await endSessions(tx, userId)
    const message = 'An operator switched off two-factor login and ended all your sessions.'
    await publishPersonalEvent(tx, userId, { event: 'security.mfa_disabled', key: randomUUID(), fields: { message } })
    return ended
  })
}
