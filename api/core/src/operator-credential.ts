// Credentials of operators: codes of one-time links, and the sessions that they are exchanged for. Rows have hashes of
// 256 random bits, so every replica accepts them, also without accounts.
import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from './db/database.ts'

export const linkMinutes = 10
export const sessionHours = 8

const prefixes = { link: 'console_', session: 'operator_' } as const

const generate = (purpose: keyof typeof prefixes): string => prefixes[purpose] + randomBytes(32).toString('base64url')

export const isOperatorSession = (text: string): boolean => /^operator_[\w-]{43}$/.test(text)

export const hashOperatorCredential = (text: string): Buffer => createHash('sha256').update(text).digest()

type Issued = { readonly secret: string; readonly expiresAt: Date }

/** Returns the code of a link. Deletes expired credentials, because nothing else does. */
export async function createConsoleLink(db: Db): Promise<Issued> {
  await sql`delete from operator_credential where expires_at <= now()`.execute(db)
  const secret = generate('link')
  const { expires_at: expiresAt } = await db
    .insertInto('operator_credential')
    .values({
      hash: hashOperatorCredential(secret),
      purpose: 'link',
      expires_at: sql<Date>`now() + ${linkMinutes}::int * interval '1 minute'`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return { secret, expiresAt }
}

/** Spends the code and begins a session. Undefined: the code is unknown, spent or expired. */
export async function takeConsoleLink(db: Db, code: string): Promise<Issued | undefined> {
  const secret = generate('session')
  const { rows } = await sql<{ expiresAt: Date }>`
    with spent as (
      delete from operator_credential
       where hash = ${hashOperatorCredential(code)} and purpose = 'link' and expires_at > now()
      returning 1
    )
    insert into operator_credential (hash, purpose, expires_at)
    select ${hashOperatorCredential(secret)}::bytea, 'session', now() + ${sessionHours}::int * interval '1 hour' from spent
    returning expires_at as "expiresAt"`.execute(db)
  return rows[0] && { secret, expiresAt: rows[0].expiresAt }
}

/** End of the session; undefined if it is unknown or over. */
export async function findOperatorSession(db: Db, hash: Buffer): Promise<Date | undefined> {
  const row = await db
    .selectFrom('operator_credential')
    .select('expires_at')
    .where('hash', '=', hash)
    .where('purpose', '=', 'session')
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return row?.expires_at
}

export async function endOperatorSession(db: Db, hash: Buffer): Promise<void> {
  await db.deleteFrom('operator_credential').where('hash', '=', hash).where('purpose', '=', 'session').execute()
}

/** Ends all sessions and links; returns the number of sessions. */
export async function endOperatorSessions(db: Db): Promise<number> {
  const ended = await db.deleteFrom('operator_credential').returning('purpose').execute()
  return ended.filter(({ purpose }) => purpose === 'session').length
}
