import { hashAddress } from '@matte/core/address'
import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { MatteError } from '@matte/core/error'
import { invalidParams } from '@matte/core/invalid-params'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { type Proof, recordProof } from '../session/session-proof.ts'
import { forgetAttempt, takeAttempt, warnOwnerAfter } from './login-attempts.ts'
import { type PasswordClient, type PasswordHasher, turnOfPerson, type Verify } from './password-hasher.ts'
import { warnOwner } from './refuse-login.ts'

export type ConfirmationDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly hasher: PasswordHasher
}

type Confirmation = {
  readonly userId: string
  readonly sessionId: string
  readonly password: string
  readonly from: PasswordClient
  readonly path: string
  /** Entry of a request whose only change is the proof. */
  readonly audit?: Audit | undefined
}

type Confirmed = { readonly hash: string; readonly proof: Proof }

/**
 * Confirms a signed-in user's password before a change that a stolen access token must not make. Returns the stored
 * hash, and the proof that the session has with it. Wrong passwords count like failed logins, and the owner is warned
 * after many.
 * @throws MatteError INVALID_PARAMS: wrong password; RATE_LIMIT_EXCEEDED: too many wrong, or too many waiting;
 * AUTH_INVALID_TOKEN: the session has ended
 */
export const confirmPassword = (deps: ConfirmationDeps, given: Confirmation): Promise<Confirmed> =>
  deps.hasher.inTurn(turnOfPerson(given.from, given.userId), (verify) => confirm(deps, given, verify))

async function confirm(
  { db, masterKeys }: ConfirmationDeps,
  { userId, sessionId, password, from, path, audit }: Confirmation,
  verify: Verify,
): Promise<Confirmed> {
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
    if (user !== undefined && attempt.failures >= warnOwnerAfter) {
      await db.transaction().execute((tx) => warnOwner(tx, masterKeys, { ...user, account }))
    }
    const issue = { path, message: 'is not your password' }
    throw invalidParams([issue], stored === null ? { message: noPassword } : {})
  }
  await forgetAttempt(db, { account, network })
  const proof = await inTransaction(db, async (tx) => {
    const recorded = await recordProof(tx, { sessionId, method: 'password' })
    await audit?.(tx, undefined)
    return recorded
  })
  return { hash: stored, proof }
}

/** Possible after two registrations of one address. */
const noPassword = 'Your account has no password. Request a link to set one with forgotPassword.'

export const tooManyFailures = (waitSeconds: number): MatteError =>
  new MatteError(
    'RATE_LIMIT_EXCEEDED',
    'Too many wrong passwords from your network for this account. Try again later.',
    {
      details: { limit: 'password' },
      retryAfterSeconds: waitSeconds,
    },
  )
