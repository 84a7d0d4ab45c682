// Between the password and the code of a login: a token of its own kind, stored hashed, that can do nothing but bring
// a code (D16).
import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { insertFailedLogin } from '../login/login-events.ts'
import type { SignInClient } from '../session/sign-in-client.ts'

const lifeMinutes = 5
const triesMax = 5

type Asked = { readonly userId: string; readonly client: SignInClient }

/**
 * After a right password: the history says that somebody knew it, until the code has come (A110). What this
 * person did not finish before goes, once it has expired.
 */
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

/** Counts a try of the token. Undefined: unknown, expired, tried too often, or of someone who may not sign in. */
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

/** It has served: the history says how the login went on, and no longer that its code was missing. */
export async function deleteMfaToken(tx: Db, token: string): Promise<void> {
  const served = await tx
    .deleteFrom('mfa_token')
    .where('hash', '=', hash(token))
    .returning('login_event_id')
    .executeTakeFirst()
  if (served?.login_event_id) await tx.deleteFrom('login_event').where('id', '=', served.login_event_id).execute()
}

/** With the end of a person's sessions, logins that are half done must begin again. */
export async function deleteMfaTokens(tx: Db, userId: string): Promise<void> {
  await tx.deleteFrom('mfa_token').where('user_id', '=', userId).execute()
}

const hash = (token: string): Buffer => createHash('sha256').update(token).digest()
