// What follows the right password. Most people enter by one statement, since each costs a twentieth of a hash; who is
// asked for more, or is not let in, goes the longer way.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { unhurriedCommit } from '../../db/unhurried-commit.ts'
import { askForVerification } from '../account/account-requests.ts'
import { type Profile, selectProfile } from '../personal/profile.ts'
import { generateRefreshToken } from '../session/refresh-token.ts'
import { sessionColumns, sessionParts } from '../session/session-parts.ts'
import type { SignInClient } from '../session/sign-in-client.ts'
import type { StartedSession } from '../session/start-session.ts'
import { createMfaToken } from '../two-factor/mfa-token.ts'
import { forgetAttempt, forgettingParts } from './login-attempts.ts'
import { insertFailedLogin } from './login-events.ts'

export type Judged =
  | { readonly outcome: 'failed' }
  | { readonly outcome: 'unverified' }
  | { readonly outcome: 'mfa_required'; readonly mfaToken: string }
  | { readonly outcome: 'signed_in'; readonly session: StartedSession; readonly user: Profile }

type FoundAccount = { readonly id: string; readonly email: string; readonly password_hash: string | null }

type Admission = {
  readonly found: FoundAccount
  /** As failures are counted by. */
  readonly account: Buffer
  readonly network: string
  readonly client: SignInClient
}

export const admit = async (db: Db, admission: Admission): Promise<Judged> =>
  (await enter(db, admission)) ?? (await db.transaction().execute((tx) => askOrRefuse(tx, admission)))

/** The account's row is locked: who changes the password meanwhile ends the session that it opens, or comes first. */
const lockIfUnchanged = (db: Db, { id, password_hash }: FoundAccount) =>
  selectProfile(db, id).where('u.password_hash', '=', password_hash).forShare('u')

/** Undefined, and nothing is written, for an account that changed, is disabled or unverified, or asks for a code. */
async function enter(db: Db, { found, account, network, client }: Admission): Promise<Judged | undefined> {
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
    select p.*, ${sessionColumns}, ${unhurriedCommit} as commit from person p, chosen c, started s`.execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  const { sessionId, userId, workspaceId, role, commit: _setting, ...user } = row
  return { outcome: 'signed_in', session: { sessionId, userId, workspaceId, role, refreshToken }, user }
}

async function askOrRefuse(tx: Db, admission: Admission): Promise<Judged> {
  const { found, account, network, client } = admission
  const { id: userId, email } = found
  const person = await lockIfUnchanged(tx, found).select('u.disabled_at').executeTakeFirst()
  const failed = async (failureReason: string): Promise<Judged> => {
    await insertFailedLogin(tx, { userId, method: 'password', failureReason, client })
    return { outcome: 'failed' }
  }
  if (person === undefined) return failed('wrong_password')
  const { disabled_at, emailVerified, mfaEnabled } = person
  // What stood in the way was taken away since, such as a second factor.
  if (disabled_at === null && emailVerified && !mfaEnabled) return (await enter(tx, admission)) ?? failed('disabled')
  // Who knows the password guesses no longer.
  await forgetAttempt(tx, { account, network })
  if (disabled_at !== null) return failed('disabled')
  if (!emailVerified) {
    await askForVerification(tx, email)
    await insertFailedLogin(tx, { userId, method: 'password', failureReason: 'unverified', client })
    return { outcome: 'unverified' }
  }
  return { outcome: 'mfa_required', mfaToken: await createMfaToken(tx, { userId, client }) }
}
