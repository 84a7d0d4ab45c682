// Password logins (D15). Known and unknown addresses take the same path: count the attempt, look up the account, hash
// one password, write one history row. No database connection is held during the hash.
import { foldAddress, hashAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { answerMsAfter, takeAttempt } from '../password/login-attempts.ts'
import { type PasswordClient, type PasswordHasher, turnOfAddress, type Verify } from '../password/password-hasher.ts'
import { refuseLogin } from '../password/refuse-login.ts'
import type { SignInClient } from '../session/start-session.ts'
import { completeLogin, type LoginOutcome } from './complete-login.ts'

type LoginDeps = { readonly db: Db; readonly masterKeys: MasterKeys; readonly hasher: PasswordHasher }

type Credentials = {
  readonly email: string
  readonly password: string
  readonly from: PasswordClient
  readonly client: SignInClient
}

/** `delayed`: too many failures; the password was not checked. `answerMs`: minimum response time. */
type Login =
  | { readonly outcome: 'delayed'; readonly waitSeconds: number; readonly answerMs: 0 }
  | (LoginOutcome & { readonly answerMs: number })

/** @throws MatteError RATE_LIMIT_EXCEEDED if too many passwords wait to be hashed; no attempt was counted */
export const logIn = (deps: LoginDeps, given: Credentials): Promise<Login> =>
  deps.hasher.inTurn(turnOfAddress(given.from, given.email), (verify) => tryLogin(deps, given, verify))

async function tryLogin({ db, masterKeys }: LoginDeps, given: Credentials, verify: Verify): Promise<Login> {
  const account = hashAddress(given.email)
  const { client: network } = given.from
  const [attempt, found] = await Promise.all([takeAttempt(db, { account, network }), findAccount(db, given.email)])
  if (!attempt.allowed) return { outcome: 'delayed', waitSeconds: attempt.waitSeconds, answerMs: 0 }
  const isRight = await verify(found?.password_hash ?? null, given.password)
  const answerMs = answerMsAfter(attempt.failures)
  if (found !== undefined && isRight)
    return { ...(await completeLogin(db, { found, account, network, client: given.client })), answerMs }
  const { client } = given
  const { failures } = attempt
  await refuseLogin(db, masterKeys, { method: 'password', owner: found, account, failures, client })
  return { outcome: 'failed', answerMs }
}

const findAccount = (db: Db, email: string) =>
  db
    .selectFrom('app_user')
    .select(['id', 'email', 'password_hash'])
    .where('email_key', '=', foldAddress(email))
    .where('erased_at', 'is', null)
    .executeTakeFirst()
