// A new password, by the token of a mail or by who is signed in. With it other sessions end, so that who learned the
// old one is out within seconds (D14).
import { randomUUID } from 'node:crypto'
import { hashAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import { publishPersonalEvent } from '../../notification/personal-event.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { deleteMailTokens, findMailToken, takeMailToken } from '../account/mail-token.ts'
import { openAccount } from '../account/open-account.ts'
import { dropRegisteredPasswords } from '../account/pending-registration.ts'
import { forgetFailures } from '../login/login-attempts.ts'
import { endSessions } from '../session/session-queries.ts'
import { checkNewPassword } from './new-password.ts'
import type { PasswordHasher } from './password-hasher.ts'
import { type PasswordClient, turnOfPerson } from './password-turn.ts'

type PasswordDeps = { readonly db: Db; readonly hasher: PasswordHasher }
/** `freeCredits`: credits of the plan Free, for an account that the reset verifies. */
type ResetDeps = PasswordDeps & { readonly masterKeys: MasterKeys; readonly freeCredits: number }

type Reset = { readonly token: string; readonly newPassword: string; readonly from: PasswordClient }

/**
 * Returns the user's id. All sessions end, a second factor stays on. The link came by mail, so it verifies an address
 * that was not verified yet. Undefined: the token does not work, or no longer.
 * @throws MatteError INVALID_PARAMS: too easy to guess, and the token still works; RATE_LIMIT_EXCEEDED
 */
export async function resetPassword(
  { db, hasher, masterKeys, freeCredits }: ResetDeps,
  { token, newPassword, from }: Reset,
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
    if (user.email_verified_at === null) await takeOver(tx, { masterKeys, userId, passwordHash, freeCredits })
    await endSessions(tx, userId)
    await forgetFailures(tx, hashAddress(user.email))
    await announce(tx, userId)
    return userId
  })
}

/** A stranger may have registered the address, so nothing of the registration is kept (D92). */
async function takeOver(tx: Db, account: Parameters<typeof openAccount>[1]): Promise<void> {
  const { userId } = account
  await dropRegisteredPasswords(tx, userId)
  const unknown = { name: null, referral_code: null, registered_from: null }
  await tx.updateTable('app_user').set(unknown).where('id', '=', userId).execute()
  await openAccount(tx, account)
}

type Change = {
  readonly userId: string
  readonly sessionId: string
  /** The one that was found right, and counts as long as it is stored. */
  readonly currentHash: string
  readonly newPassword: string
  readonly endOtherSessions: boolean
  readonly from: PasswordClient
}

/**
 * False: the password was changed meanwhile, by somebody else.
 * @throws MatteError INVALID_PARAMS: too easy to guess; RATE_LIMIT_EXCEEDED
 */
export async function changePassword(
  { db, hasher }: PasswordDeps,
  { userId, sessionId, currentHash, newPassword, endOtherSessions, from }: Change,
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
    // A link that is on its way would undo the change.
    await deleteMailTokens(tx, 'reset-password', userId)
    if (endOtherSessions) await endSessions(tx, userId, { except: sessionId })
    await announce(tx, userId)
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
