// Verifies an address by the link of its mail and the password of the registration that sent the link (D92). The link
// proves that the caller reads the mailbox, the password that the caller registered. So a stranger's registration opens
// nothing: its link is in the owner's mailbox, and its password is unknown there.
import { hashAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { answerMsAfter } from '../login/delay.ts'
import { forgetAttempt, takeAttempt } from '../login/login-attempts.ts'
import { refuseLogin } from '../login/refuse-login.ts'
import type { PasswordHasher, Verify } from '../password/password-hasher.ts'
import { type PasswordClient, turnOfAddress } from '../password/password-turn.ts'
import { lockPerson } from '../personal/person-queries.ts'
import type { SignInClient } from '../session/sign-in-client.ts'
import { type StartedSession, startSession } from '../session/start-session.ts'
import { isTwoFactorOn } from '../two-factor/two-factor-queries.ts'
import { takeMailToken } from './mail-token.ts'
import { openAccount } from './open-account.ts'
import { findRegistration } from './pending-registration.ts'

type VerifyDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly hasher: PasswordHasher
  /** Credits of the plan Free. */
  readonly freeCredits: number
}

type Click = {
  readonly token: string
  readonly password: string
  readonly from: PasswordClient
  readonly client: SignInClient
}

/**
 * `refused`: the token does not work. `failed`: the password is wrong, and the token still works. `delayed`: too many
 * passwords were wrong, so this one was not compared. `answerMs`: shortest time of the answer.
 */
type Verified =
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'delayed'; readonly waitSeconds: number }
  | { readonly outcome: 'failed'; readonly answerMs: number }
  | { readonly outcome: 'signed_in'; readonly session: StartedSession }

/** @throws MatteError RATE_LIMIT_EXCEEDED when too many passwords wait to be hashed; nothing was counted then */
export const verifyAddress = (deps: VerifyDeps, click: Click): Promise<Verified> =>
  deps.hasher.inTurn(turnOfAddress(click.from, click.token), (verify) => judgeClick(deps, click, verify))

async function judgeClick(deps: VerifyDeps, click: Click, verify: Verify): Promise<Verified> {
  const { db, masterKeys } = deps
  const { from, client } = click
  const { client: network } = from
  const found = await findRegistration(db, click.token)
  if (found === undefined) return { outcome: 'refused' }
  const { userId: id, email, passwordHash } = found
  const account = hashAddress(email)
  const attempt = await takeAttempt(db, { account, network })
  if (!attempt.allowed) return { outcome: 'delayed', waitSeconds: attempt.waitSeconds }
  const isRight = await verify(passwordHash, click.password)
  if (!isRight || passwordHash === null) {
    const { failures } = attempt
    await refuseLogin(db, masterKeys, { method: 'verify_email', owner: { id, email }, account, failures, client })
    return { outcome: 'failed', answerMs: answerMsAfter(failures) }
  }
  await forgetAttempt(db, { account, network })
  const session = await db.transaction().execute((tx) => signIn(tx, deps, { ...click, userId: id, passwordHash }))
  return session === undefined ? { outcome: 'refused' } : { outcome: 'signed_in', session }
}

type RightClick = Click & { readonly userId: string; readonly passwordHash: string }

/** Undefined: the token was spent, or the password changed, after the password was compared. */
async function signIn(
  tx: Db,
  { masterKeys, freeCredits }: VerifyDeps,
  { userId, token, passwordHash, client }: RightClick,
): Promise<StartedSession | undefined> {
  // A reset locks the row as well, so either it sees the session, or its password is compared here.
  await lockPerson(tx, userId)
  const found = await findRegistration(tx, token)
  if (found === undefined || found.passwordHash !== passwordHash) return undefined
  await takeMailToken(tx, 'verify-email', token)
  // A reset verifies the address too. The link then signs in, unless a login would ask for a code by now.
  if (await isTwoFactorOn(tx, userId)) return undefined
  await openAccount(tx, { masterKeys, userId, passwordHash, freeCredits })
  return startSession(tx, { userId, method: 'verify_email', client })
}
