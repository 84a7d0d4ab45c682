import { hashAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { invalidParams } from '../../invalid-params.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { tellOwnerAfter } from '../login/delay.ts'
import { forgetAttempt, takeAttempt } from '../login/login-attempts.ts'
import { warnOwner } from '../login/warn-owner.ts'
import type { PasswordHasher, Verify } from './password-hasher.ts'
import { type PasswordClient, turnOfPerson } from './password-turn.ts'

export type ConfirmationDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly hasher: PasswordHasher
}

type Confirmation = {
  readonly userId: string
  readonly password: string
  readonly from: PasswordClient
  /** Of the password in the request, such as `/body/password`. */
  readonly path: string
}

/**
 * Asks somebody who is signed in for the password again, before a change that a stolen access token must not make.
 * Wrong ones count like those of a login, and the owner is told of many. Returns what is stored of the right one.
 * @throws MatteError INVALID_PARAMS: it is wrong; RATE_LIMIT_EXCEEDED: too many were, or too many wait
 */
export const confirmPassword = (deps: ConfirmationDeps, given: Confirmation): Promise<string> =>
  deps.hasher.inTurn(turnOfPerson(given.from, given.userId), (verify) => confirm(deps, given, verify))

async function confirm(
  { db, masterKeys }: ConfirmationDeps,
  { userId, password, from, path }: Confirmation,
  verify: Verify,
): Promise<string> {
  const user = await db
    .selectFrom('app_user')
    .select(['id', 'email', 'password_hash'])
    .where('id', '=', userId)
    .executeTakeFirst()
  const account = hashAddress(user?.email ?? '')
  const { client: network } = from
  const attempt = await takeAttempt(db, { account, network })
  if (!attempt.allowed) throw tooManyFailures(attempt.waitSeconds)
  const stored = user?.password_hash ?? null
  const isRight = await verify(stored, password)
  if (!isRight || stored === null) {
    if (user !== undefined && attempt.failures >= tellOwnerAfter) {
      await db.transaction().execute((tx) => warnOwner(tx, masterKeys, { ...user, account }))
    }
    const issue = { path, message: 'is not your password' }
    throw invalidParams([issue], stored === null ? { message: noPassword } : {})
  }
  await forgetAttempt(db, { account, network })
  return stored
}

/** An account of an older release can have none: two people had registered its address. */
const noPassword = 'Your account has no password. Ask for a link to set one with forgotPassword.'

/** For a login and for a confirmation alike. */
export const tooManyFailures = (waitSeconds: number): MatteError =>
  new MatteError(
    'RATE_LIMIT_EXCEEDED',
    'Too many wrong passwords from your network for this account: try again later.',
    {
      details: { limit: 'password' },
      retryAfterSeconds: waitSeconds,
    },
  )
