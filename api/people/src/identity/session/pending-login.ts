// Tokens of pending logins, between password and code. Stored hashed; only the code step accepts them.
import { createHash, randomBytes } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import { insertFailedLogin } from './login-events.ts'
import type { SignInClient } from './start-session.ts'

const lifeMinutes = 5
const triesMax = 5

type Asked = { readonly userId: string; readonly client: SignInClient }

/** Created after a correct password. The history shows a failed login until the code arrives. */
export async function createMfaToken(tx: Db, { userId, client }: Asked): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  await tx.deleteFrom('mfa_token').where('user_id', '=', userId).where('expires_at', '<=', sql<Date>`now()`).execute()
  const login_event_id = await insertFailedLogin(tx, {
    userId,
    method: 'password',
    failureReason: 'code_missing',
    client,
  })
  const expires_at = sql<Date>`now() + ${lifeMinutes} * interval '1 minute'`
  await tx
    .insertInto('mfa_token')
    .values({ hash: hash(token), user_id: userId, login_event_id, expires_at })
    .execute()
  return token
}

/** Counts an attempt. Returns undefined if the token is unknown, expired or used up, or its user may not sign in. */
export async function tryMfaToken(tx: Db, token: string): Promise<string | undefined> {
  const row = await tx
    .updateTable('mfa_token')
    .from('app_user')
    .set({ tries: sql`tries + 1` })
    .whereRef('app_user.id', '=', 'mfa_token.user_id')
    .where('app_user.disabled_at', 'is', null)
    .where('app_user.erased_at', 'is', null)
    .where('hash', '=', hash(token))
    .where('expires_at', '>', sql<Date>`now()`)
    .where('tries', '<', triesMax)
    .returning('user_id')
    .executeTakeFirst()
  return row?.user_id
}

/** Deletes the token of a finished login and its history row about the missing code. */
export async function deleteMfaToken(tx: Db, token: string): Promise<void> {
  const served = await tx
    .deleteFrom('mfa_token')
    .where('hash', '=', hash(token))
    .returning('login_event_id')
    .executeTakeFirst()
  if (served?.login_event_id) await tx.deleteFrom('login_event').where('id', '=', served.login_event_id).execute()
}

/** Called when a user's sessions end: pending logins start again. */
export async function deleteMfaTokens(tx: Db, userId: string): Promise<void> {
  await tx.deleteFrom('mfa_token').where('user_id', '=', userId).execute()
}

const hash = (token: string): Buffer => createHash('sha256').update(token).digest()
