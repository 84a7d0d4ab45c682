// A plain login takes one statement; one that needs a second factor or must be rejected takes a transaction.

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

export const completeLogin = async (db: Db, login: CorrectLogin): Promise<LoginOutcome> =>
  (await signIn(db, login)) ?? (await db.transaction().execute((tx) => requireCodeOrReject(tx, login)))

/** Locks the account's row, so a concurrent password change either ends the new session or is seen here. */
const lockIfUnchanged = (db: Db, { id, password_hash }: FoundAccount) =>
  selectProfile(db, id).where('u.password_hash', '=', password_hash).forShare('u')

/** Returns undefined and writes nothing if the account changed, is disabled or unverified, or needs a code. */
async function signIn(db: Db, { found, account, network, client }: CorrectLogin): Promise<LoginOutcome | undefined> {
  const refreshToken = generateRefreshToken()
  const person = lockIfUnchanged(db, found)
    .where('u.disabled_at', 'is', null)
    .where('u.email_verified_at', 'is not', null)
    .where('t.user_id', 'is', null)
  const { rows } = await sql<Omit<StartedSession, 'refreshToken'> & Profile & { readonly commit: string }>`
    with person as materialized (${person}), chosen as materialized (
      select p.id as user_id, w.id as workspace_id, m.role
        from person p
        join workspace w on w.personal_of = p.id
        join membership m on m.user_id = p.id and m.workspace_id = w.id
    ), ${forgettingParts({ account, network })}, ${sessionParts({ method: 'password', client, refreshToken })}
    select p.*, ${sessionColumns}, ${asyncCommit} as commit from person p, chosen c, started s`.execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  const { sessionId, userId, workspaceId, role, commit: _setting, ...user } = row
  return { outcome: 'signed_in', session: { sessionId, userId, workspaceId, role, refreshToken }, user }
}

async function requireCodeOrReject(tx: Db, login: CorrectLogin): Promise<LoginOutcome> {
  const { found, account, network, client } = login
  const { id: userId, email } = found
  const person = await lockIfUnchanged(tx, found).select('u.disabled_at').executeTakeFirst()
  const failed = async (failureReason: string): Promise<LoginOutcome> => {
    await insertFailedLogin(tx, { userId, method: 'password', failureReason, client })
    return { outcome: 'failed' }
  }
  if (person === undefined) return failed('wrong_password')
  const { disabled_at, emailVerified, mfaEnabled } = person
  // A concurrent transaction removed the obstacle, such as the second factor.
  if (disabled_at === null && emailVerified && !mfaEnabled) return (await signIn(tx, login)) ?? failed('disabled')
  await forgetAttempt(tx, { account, network })
  if (disabled_at !== null) return failed('disabled')
  if (!emailVerified) {
    await requestVerification(tx, email)
    await insertFailedLogin(tx, { userId, method: 'password', failureReason: 'unverified', client })
    return { outcome: 'unverified' }
  }
  return { outcome: 'mfa_required', mfaToken: await createMfaToken(tx, { userId, client }) }
}
