// Logging in (D15). Known and unknown addresses take the same way: an attempt is counted, the account is looked up, one
// password is hashed, one row of history is written. Nothing is held while the password is hashed.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { askForVerification } from '../account/account-requests.ts'
import type { PasswordHasher } from '../password/password-hasher.ts'
import { askSecondFactor } from '../second-factor.ts'
import { type SignInClient, type StartedSession, startSession } from '../session/start-session.ts'
import { answerMsAfter, tellOwnerAfter } from './delay.ts'
import { accountHash, forgetAttempt, takeAttempt } from './login-attempts.ts'
import { insertLoginEvent } from './login-events.ts'
import { returnAttempt } from './return-attempt.ts'
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
  | { readonly outcome: 'signed_in'; readonly session: StartedSession }

/** `delayed`: too many failures; the password was not judged. `answerMs`: what the answer shall take at least. */
type Login =
  | { readonly outcome: 'delayed'; readonly waitSeconds: number; readonly answerMs: 0 }
  | (Judged & { readonly answerMs: number })

/** @throws MatteError RATE_LIMIT_EXCEEDED when too many passwords wait to be hashed */
export async function logIn(deps: LoginDeps, given: Credentials): Promise<Login> {
  const { db, hasher } = deps
  const account = accountHash(given.email)
  const attempt = await takeAttempt(db, { account, network: given.network })
  if (!attempt.allowed) return { outcome: 'delayed', waitSeconds: attempt.waitSeconds, answerMs: 0 }
  const found = await findAccount(db, given.email)
  const isRight = await hasher.verify(found?.password_hash ?? null, given.password).catch(async (error: unknown) => {
    await returnAttempt(db, { account, network: given.network })
    throw error
  })
  const judged = await db.transaction().execute((tx) =>
    found !== undefined && isRight
      ? admit(tx, found, { ...given, account })
      : refuse(tx, deps.masterKeys, {
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
  await insertLoginEvent(tx, { userId: found?.id ?? null, method: 'password', failureReason: reason, client })
  if (warns && found !== undefined) await warnOwner(tx, masterKeys, { ...found, account })
  return { outcome: 'failed' }
}

/** The account's row is locked: who changes the password meanwhile ends the session that it opens, or comes first. */
async function admit(
  tx: Db,
  { id: userId, email, password_hash }: Found,
  { account, network, client }: Credentials & { readonly account: Buffer },
): Promise<Judged> {
  const user = await tx
    .selectFrom('app_user')
    .select(['email_verified_at', 'disabled_at'])
    .where('id', '=', userId)
    .where('password_hash', '=', password_hash)
    .where('erased_at', 'is', null)
    .forShare()
    .executeTakeFirst()
  const failed = async (failureReason: string): Promise<Judged> => {
    await insertLoginEvent(tx, { userId, method: 'password', failureReason, client })
    return { outcome: 'failed' }
  }
  if (user === undefined) return failed('wrong_password')
  // Who knows the password guesses no longer.
  await forgetAttempt(tx, { account, network })
  if (user.disabled_at !== null) return failed('disabled')
  if (user.email_verified_at === null) {
    await askForVerification(tx, email)
    await insertLoginEvent(tx, { userId, method: 'password', failureReason: 'unverified', client })
    return { outcome: 'unverified' }
  }
  const mfaToken = await askSecondFactor(tx, { userId, client })
  if (mfaToken !== undefined) return { outcome: 'mfa_required', mfaToken }
  const session = await startSession(tx, { userId, client })
  if (session === undefined) return failed('disabled')
  await insertLoginEvent(tx, { userId, method: 'password', failureReason: null, client })
  return { outcome: 'signed_in', session }
}
