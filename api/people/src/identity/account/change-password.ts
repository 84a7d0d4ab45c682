// Changes a password, by a mailed token or for a signed-in user. Other sessions end.

import { randomUUID } from 'node:crypto'
import { hashAddress } from '@matte/core/address'
import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { publishPersonalEvent } from '../../notification/publish-events.ts'
import { forgetFailures } from '../password/login-attempts.ts'
import { checkNewPassword } from '../password/new-password.ts'
import { type PasswordClient, type PasswordHasher, turnOfPerson } from '../password/password-hasher.ts'
import { endSessions } from '../session/session-queries.ts'
import { deleteMailTokens, dropRegisteredPasswords, findMailToken, takeMailToken } from './mail-token.ts'
import { type NewAccounts, openAccount } from './open-account.ts'

type PasswordDeps = { readonly db: Db; readonly hasher: PasswordHasher }
type ResetDeps = PasswordDeps & { readonly masterKeys: MasterKeys; readonly newAccounts: NewAccounts }

type Reset = {
  readonly token: string
  readonly newPassword: string
  readonly from: PasswordClient
  /** Entry of the request, which only the token identifies. */
  readonly auditFor: (userId: string) => Audit
}

/**
 * Sets a password by a mailed token, ends all sessions and returns the user's id. A second factor stays on. The link
 * also verifies the address. Returns undefined if the token is not live.
 * @throws MatteError INVALID_PARAMS: too easy to guess, and the token stays live; RATE_LIMIT_EXCEEDED
 */
export async function resetPassword(
  { db, hasher, masterKeys, newAccounts }: ResetDeps,
  { token, newPassword, from, auditFor }: Reset,
): Promise<string | undefined> {
  const userId = await findMailToken(db, 'reset-password', token)
  if (userId === undefined) return undefined
  await checkFor(db, userId, newPassword)
  const passwordHash = await hasher.hash(turnOfPerson(from, userId), newPassword)
  return db.transaction().execute(async (tx) => {
    if ((await takeMailToken(tx, 'reset-password', token)) === undefined) return undefined
    const user = await tx
      .updateTable('app_user')
      .set({ password_hash: passwordHash })
      .where('id', '=', userId)
      .where('disabled_at', 'is', null)
      .where('erased_at', 'is', null)
      .returning(['email', 'email_verified_at'])
      .executeTakeFirst()
    if (user === undefined) return undefined
    if (user.email_verified_at === null)
      await discardRegistration(tx, { masterKeys, userId, passwordHash, ...newAccounts })
    await endSessions(tx, userId)
    await forgetFailures(tx, hashAddress(user.email))
    await announce(tx, userId)
    await auditFor(userId)(tx)
    return userId
  })
}

/** Verifies the address and discards name and referral code: a stranger may have registered the address. */
async function discardRegistration(tx: Db, account: Parameters<typeof openAccount>[1]): Promise<void> {
  const { userId } = account
  await dropRegisteredPasswords(tx, userId)
  const unknown = { name: null, referral_code: null, registered_from: null }
  await tx.updateTable('app_user').set(unknown).where('id', '=', userId).execute()
  await openAccount(tx, account)
}

type Change = {
  readonly userId: string
  readonly sessionId: string
  /** Hash of the confirmed password; the change fails if another is stored by then. */
  readonly currentHash: string
  readonly newPassword: string
  readonly endOtherSessions: boolean
  readonly from: PasswordClient
  readonly audit: Audit
}

/** Returns false after a concurrent change. @throws MatteError INVALID_PARAMS: easy to guess; RATE_LIMIT_EXCEEDED */
export async function changePassword(
  { db, hasher }: PasswordDeps,
  { userId, sessionId, currentHash, newPassword, endOtherSessions, from, audit }: Change,
): Promise<boolean> {
  await checkFor(db, userId, newPassword)
  const passwordHash = await hasher.hash(turnOfPerson(from, userId), newPassword)
  return db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('app_user')
      .set({ password_hash: passwordHash })
      .where('id', '=', userId)
      .where('password_hash', '=', currentHash)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return false
    // A pending reset link would undo the change.
    await deleteMailTokens(tx, 'reset-password', userId)
    if (endOtherSessions) await endSessions(tx, userId, { except: sessionId })
    await announce(tx, userId)
    await audit(tx)
    return true
  })
}

async function checkFor(db: Db, userId: string, newPassword: string): Promise<void> {
  const user = await db.selectFrom('app_user').select(['email', 'name']).where('id', '=', userId).executeTakeFirst()
  checkNewPassword(newPassword, '/body/newPassword', [user?.email, user?.name])
}

async function announce(tx: Db, userId: string): Promise<void> {
  const message = 'The password of your account was changed.'
  await publishPersonalEvent(tx, userId, { event: 'security.password_changed', key: randomUUID(), fields: { message } })
}
