// Logging in (D15). Known and unknown addresses take the same way: an attempt is counted, the account is looked up, one
// password is hashed, one row of history is written. No connection is held while the password is hashed.
import { foldAddress, hashAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import type { PasswordHasher, Verify } from '../password/password-hasher.ts'
import { type PasswordClient, turnOfAddress } from '../password/password-turn.ts'
import type { SignInClient } from '../session/sign-in-client.ts'
import { admit, type Judged } from './admit.ts'
import { answerMsAfter } from './delay.ts'
import { takeAttempt } from './login-attempts.ts'
import { refuseLogin } from './refuse-login.ts'

type LoginDeps = { readonly db: Db; readonly masterKeys: MasterKeys; readonly hasher: PasswordHasher }

type Credentials = {
  readonly email: string
  readonly password: string
  readonly from: PasswordClient
  readonly client: SignInClient
}

/** `delayed`: too many failures; the password was not judged. `answerMs`: what the answer shall take at least. */
type Login =
  | { readonly outcome: 'delayed'; readonly waitSeconds: number; readonly answerMs: 0 }
  | (Judged & { readonly answerMs: number })

/** @throws MatteError RATE_LIMIT_EXCEEDED when too many passwords wait to be hashed; nothing was counted then */
export const logIn = (deps: LoginDeps, given: Credentials): Promise<Login> =>
  deps.hasher.inTurn(turnOfAddress(given.from, given.email), (verify) => judgeLogin(deps, given, verify))

async function judgeLogin({ db, masterKeys }: LoginDeps, given: Credentials, verify: Verify): Promise<Login> {
  const account = hashAddress(given.email)
  const { client: network } = given.from
  const [attempt, found] = await Promise.all([takeAttempt(db, { account, network }), findAccount(db, given.email)])
  if (!attempt.allowed) return { outcome: 'delayed', waitSeconds: attempt.waitSeconds, answerMs: 0 }
  const isRight = await verify(found?.password_hash ?? null, given.password)
  const answerMs = answerMsAfter(attempt.failures)
  if (found !== undefined && isRight)
    return { ...(await admit(db, { found, account, network, client: given.client })), answerMs }
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
