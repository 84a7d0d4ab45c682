// Verifies an address by the mailed link and the password of the registration that sent it (D92). The link proves
// access to the mailbox, the password proves who registered, so a stranger's registration opens nothing (A145).
import { hashAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { answerMsAfter, forgetAttempt, takeAttempt } from '../password/login-attempts.ts'
import { type PasswordClient, type PasswordHasher, turnOfAddress, type Verify } from '../password/password-hasher.ts'
import { refuseLogin } from '../password/refuse-login.ts'
import { type SignInClient, type StartedSession, startSession } from '../session/start-session.ts'
import { isTwoFactorOn } from '../two-factor/two-factor-queries.ts'
import { findRegistration, takeMailToken } from './mail-token.ts'
import { type NewAccounts, openAccount } from './open-account.ts'
import { lockPerson } from './person-queries.ts'

type VerifyDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly hasher: PasswordHasher
  readonly newAccounts: NewAccounts
}

type Click = {
  readonly token: string
  readonly password: string
  readonly from: PasswordClient
  readonly client: SignInClient
}

/** `refused`: the token is not live. `delayed`: not checked. `answerMs`: minimum response time. */
type Verified =
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'delayed'; readonly waitSeconds: number }
  | { readonly outcome: 'failed'; readonly answerMs: number }
  | { readonly outcome: 'signed_in'; readonly session: StartedSession }

/** @throws MatteError RATE_LIMIT_EXCEEDED if too many passwords wait to be hashed; no attempt was counted */
export const verifyAddress = (deps: VerifyDeps, click: Click): Promise<Verified> =>
  deps.hasher.inTurn(turnOfAddress(click.from, click.token), (verify) => tryClick(deps, click, verify))

async function tryClick(deps: VerifyDeps, click: Click, verify: Verify): Promise<Verified> {
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

/** Returns undefined if the token was spent or the password changed during the hash. */
async function signIn(
  tx: Db,
  { masterKeys, newAccounts }: VerifyDeps,
  { userId, token, passwordHash, client }: RightClick,
): Promise<StartedSession | undefined> {
  // A reset locks the row too: either it ends this session, or the changed password is seen here.
  await lockPerson(tx, userId)
  const found = await findRegistration(tx, token)
  if (found === undefined || found.passwordHash !== passwordHash) return undefined
  await takeMailToken(tx, 'verify-email', token)
  // After a reset enabled login by a code, the link must not bypass the code.
  if (await isTwoFactorOn(tx, userId)) return undefined
  await openAccount(tx, { masterKeys, userId, passwordHash, ...newAccounts })
  return startSession(tx, { userId, method: 'verify_email', client })
}
