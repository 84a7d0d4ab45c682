// Logging in (D15). Known and unknown addresses take the same way: an attempt is counted, the account is looked up, one
// password is hashed, one row of history is written. No connection is held while the password is hashed.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { unhurriedCommit } from '../../db/unhurried-commit.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { askForVerification } from '../account/account-requests.ts'
import type { PasswordHasher, Verify } from '../password/password-hasher.ts'
import { type Profile, selectProfile } from '../personal/profile.ts'
import { type SignInClient, type StartedSession, startSession } from '../session/start-session.ts'
import { createMfaToken } from '../two-factor/mfa-token.ts'
import { answerMsAfter, tellOwnerAfter } from './delay.ts'
import { accountHash, forgetAttempt, takeAttempt } from './login-attempts.ts'
import { insertFailedLogin } from './login-events.ts'
import { warnOwner } from './warn-owner.ts'

type LoginDeps = { readonly db: Db; readonly masterKeys: MasterKeys; readonly hasher: PasswordHasher }

type Credentials = {
  readonly email: string
  readonly password: string
  /** The client's, as failures are counted by. */
  readonly network: string
  readonly client: SignInClient
}

type Judged =
  | { readonly outcome: 'failed' }
  | { readonly outcome: 'unverified' }
  | { readonly outcome: 'mfa_required'; readonly mfaToken: string }
  | { readonly outcome: 'signed_in'; readonly session: StartedSession; readonly user: Profile }

/** `delayed`: too many failures; the password was not judged. `answerMs`: what the answer shall take at least. */
type Login =
  | { readonly outcome: 'delayed'; readonly waitSeconds: number; readonly answerMs: 0 }
  | (Judged & { readonly answerMs: number })

/** @throws MatteError RATE_LIMIT_EXCEEDED when too many passwords wait to be hashed; nothing was counted then */
export const logIn = (deps: LoginDeps, given: Credentials): Promise<Login> =>
  deps.hasher.inTurn((verify) => judgeLogin(deps, given, verify))

async function judgeLogin({ db, masterKeys }: LoginDeps, given: Credentials, verify: Verify): Promise<Login> {
  const account = accountHash(given.email)
  const [attempt, found] = await Promise.all([
    takeAttempt(db, { account, network: given.network }),
    findAccount(db, given.email),
  ])
  if (!attempt.allowed) return { outcome: 'delayed', waitSeconds: attempt.waitSeconds, answerMs: 0 }
  const isRight = await verify(found?.password_hash ?? null, given.password)
  const judged = await db.transaction().execute((tx) =>
    found !== undefined && isRight
      ? admit(tx, found, { ...given, account })
      : refuse(tx, masterKeys, {
          found,
          account,
          client: given.client,
          warns: attempt.failures >= tellOwnerAfter,
          reason: 'wrong_password',
        }),
  )
  return { ...judged, answerMs: answerMsAfter(attempt.failures) }
}

const findAccount = (db: Db, email: string) =>
  db
    .selectFrom('app_user')
    .select(['id', 'email', 'password_hash'])
    .where(sql<boolean>`lower(email) = ${email.toLowerCase()}`)
    .where('erased_at', 'is', null)
    .executeTakeFirst()

type Found = NonNullable<Awaited<ReturnType<typeof findAccount>>>
type Refused = {
  readonly found: Found | undefined
  readonly account: Buffer
  readonly client: SignInClient
  readonly warns: boolean
  readonly reason: string
}

async function refuse(
  tx: Db,
  masterKeys: MasterKeys,
  { found, account, client, warns, reason }: Refused,
): Promise<Judged> {
  await insertFailedLogin(tx, { userId: found?.id ?? null, method: 'password', failureReason: reason, client })
  if (warns && found !== undefined) await warnOwner(tx, masterKeys, { ...found, account })
  return { outcome: 'failed' }
}

/** The account's row is locked: who changes the password meanwhile ends the session that it opens, or comes first. */
async function admit(
  tx: Db,
  { id: userId, email, password_hash }: Found,
  { account, network, client }: Credentials & { readonly account: Buffer },
): Promise<Judged> {
  const found = await selectProfile(tx, userId)
    .select(['u.disabled_at', unhurriedCommit.as('commit')])
    .where('u.password_hash', '=', password_hash)
    .forShare('u')
    .executeTakeFirst()
  const failed = async (failureReason: string): Promise<Judged> => {
    await insertFailedLogin(tx, { userId, method: 'password', failureReason, client })
    return { outcome: 'failed' }
  }
  if (found === undefined) return failed('wrong_password')
  const { disabled_at, commit: _setting, ...user } = found
  // Who knows the password guesses no longer.
  await forgetAttempt(tx, { account, network })
  if (disabled_at !== null) return failed('disabled')
  if (!user.emailVerified) {
    await askForVerification(tx, email)
    await insertFailedLogin(tx, { userId, method: 'password', failureReason: 'unverified', client })
    return { outcome: 'unverified' }
  }
  if (user.mfaEnabled) return { outcome: 'mfa_required', mfaToken: await createMfaToken(tx, { userId, client }) }
  const session = await startSession(tx, { userId, method: 'password', client })
  return session === undefined ? failed('disabled') : { outcome: 'signed_in', session, user }
}
