// The end of a login with the right password: a session, or the request for a code, or a rejection.
import { asyncCommit } from '@matte/core/db/async-commit'
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import { requestVerification } from '../account/account-requests.ts'
import { type Profile, selectProfile } from '../account/person-queries.ts'
import { forgetAttempt, forgettingParts } from '../password/login-attempts.ts'
import { insertFailedLogin } from '../session/login-events.ts'
import { createMfaToken } from '../session/pending-login.ts'
import { generateRefreshToken } from '../session/refresh-token.ts'
import { type SignInClient, type StartedSession, sessionColumns, sessionParts } from '../session/start-session.ts'

export type LoginOutcome =
  | { readonly outcome: 'failed' }
  | { readonly outcome: 'unverified' }
  | { readonly outcome: 'mfa_required'; readonly mfaToken: string }
  | { readonly outcome: 'signed_in'; readonly session: StartedSession; readonly user: Profile }

type FoundAccount = { readonly id: string; readonly email: string; readonly password_hash: string | null }

type CorrectLogin = {
  readonly found: FoundAccount
  readonly account: Buffer
  readonly network: string
  readonly client: SignInClient
}

/** One transaction, whose first statement locks the account. */
export const completeLogin = (db: Db, login: CorrectLogin): Promise<LoginOutcome> =>
  db.transaction().execute(async (tx) => {
    const { found, account, network, client } = login
    const { id: userId, email } = found
    const failed = async (failureReason: string): Promise<LoginOutcome> => {
      await insertFailedLogin(tx, { userId, method: 'password', failureReason, client })
      return { outcome: 'failed' }
    }
    const person = await lockIfUnchanged(tx, found)
    if (person === undefined) return failed('wrong_password')
    const { disabled_at, ...user } = person
    if (disabled_at === null && user.emailVerified && !user.mfaEnabled) return signIn(tx, login, user)
    await forgetAttempt(tx, { account, network })
    if (disabled_at !== null) return failed('disabled')
    if (!user.emailVerified) {
      await requestVerification(tx, email)
      await insertFailedLogin(tx, { userId, method: 'password', failureReason: 'unverified', client })
      return { outcome: 'unverified' }
    }
    return { outcome: 'mfa_required', mfaToken: await createMfaToken(tx, { userId, client }) }
  })

/**
 * Concurrent logins of the account take turns, so their sessions are counted. A concurrent password change either ends
 * the new session or is seen here.
 */
const lockIfUnchanged = (tx: Db, { id, password_hash }: FoundAccount) =>
  selectProfile(tx, id)
    .select('u.disabled_at')
    .where('u.password_hash', '=', password_hash)
    .forNoKeyUpdate('u')
    .executeTakeFirst()

async function signIn(tx: Db, { account, network, client }: CorrectLogin, user: Profile): Promise<LoginOutcome> {
  const refreshToken = generateRefreshToken()
  const { rows } = await sql<Omit<StartedSession, 'refreshToken'> & { readonly commit: string }>`
    with chosen as (
      select m.user_id, w.id as workspace_id, m.role
        from workspace w
        join membership m on m.user_id = w.personal_of and m.workspace_id = w.id
       where w.personal_of = ${user.id}
    ), ${forgettingParts({ account, network })}, ${sessionParts({ method: 'password', client, refreshToken })}
    select ${sessionColumns}, ${asyncCommit} as commit from chosen c, started s`.execute(tx)
  const [row] = rows
  if (row === undefined) throw new Error(`user ${user.id} has no personal workspace`)
  const { commit: _setting, ...session } = row
  return { outcome: 'signed_in', session: { ...session, refreshToken }, user }
}
