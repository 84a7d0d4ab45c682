import { createHash, randomBytes } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import type { MailTokenTable } from '@matte/core/db/tables/account'
import { sql } from 'kysely'

type Purpose = MailTokenTable['purpose']

/** Lifetime in minutes: a day to verify an address, ten minutes to reset a password. */
const minutes: Readonly<Record<Purpose, number>> = { 'verify-email': 24 * 60, 'reset-password': 10 }

export const hashMailToken = (token: string): Buffer => createHash('sha256').update(token).digest()

/** Returns undefined if the account has the maximum of live tokens. The caller locks the account's row. */
export async function createMailToken(tx: Db, wanted: WantedToken): Promise<string | undefined> {
  if (!(await canHaveToken(tx, wanted))) return undefined
  const { purpose, userId, passwordHash = null } = wanted
  const token = randomBytes(32).toString('base64url')
  await tx
    .insertInto('mail_token')
    .values({
      hash: hashMailToken(token),
      purpose,
      user_id: userId,
      password_hash: passwordHash,
      expires_at: sql<Date>`now() + ${minutes[purpose]} * interval '1 minute'`,
    })
    .execute()
  return token
}

export async function findMailToken(db: Db, purpose: Purpose, token: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('mail_token')
    .select('user_id')
    .where('hash', '=', hashMailToken(token))
    .where('purpose', '=', purpose)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return row?.user_id
}

/** Spends the token and all others of its purpose. Locks the account first, the order of every deletion of tokens. */
export async function takeMailToken(tx: Db, purpose: Purpose, token: string): Promise<string | undefined> {
  const owner = await findMailToken(tx, purpose, token)
  if (owner === undefined) return undefined
  await tx.selectFrom('app_user').select('id').where('id', '=', owner).forNoKeyUpdate().execute()
  const row = await tx
    .deleteFrom('mail_token')
    .where('hash', '=', hashMailToken(token))
    .where('purpose', '=', purpose)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning('user_id')
    .executeTakeFirst()
  if (row !== undefined) await deleteMailTokens(tx, purpose, row.user_id)
  return row?.user_id
}

export async function deleteMailTokens(tx: Db, purpose: Purpose, userId: string): Promise<void> {
  await tx.deleteFrom('mail_token').where('user_id', '=', userId).where('purpose', '=', purpose).execute()
}

/** Live tokens per account and purpose, which bounds the mails to one address. */
const liveMax: Readonly<Record<Purpose, number>> = { 'verify-email': 5, 'reset-password': 3 }

export type WantedToken = {
  readonly purpose: Purpose
  readonly userId: string
  /** Hash of the password that a verification link needs. */
  readonly passwordHash?: string | null
}

export const canHaveToken = async (tx: Db, wanted: WantedToken): Promise<boolean> =>
  (await countLiveTokens(tx, wanted)) < liveMax[wanted.purpose]

export async function countLiveTokens(tx: Db, { purpose, userId }: WantedToken): Promise<number> {
  const { count } = await tx
    .selectFrom('mail_token')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('purpose', '=', purpose)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirstOrThrow()
  return count
}

type PendingRegistration = {
  readonly userId: string
  readonly email: string
  /** Null: no password works with the link; the owner resets the password instead. */
  readonly passwordHash: string | null
}

export async function findRegistration(db: Db, token: string): Promise<PendingRegistration | undefined> {
  return db
    .selectFrom('mail_token as t')
    .innerJoin('app_user as u', 'u.id', 't.user_id')
    .select(['u.id as userId', 'u.email'])
    .select((eb) => eb.fn.coalesce('t.password_hash', 'u.password_hash').as('passwordHash'))
    .where('t.hash', '=', hashMailToken(token))
    .where('t.purpose', '=', 'verify-email')
    .where('t.expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
}

/** Makes verification links work with the account's current password instead of their registration's. */
export async function dropRegisteredPasswords(tx: Db, userId: string): Promise<void> {
  await tx
    .updateTable('mail_token')
    .set({ password_hash: null })
    .where('user_id', '=', userId)
    .where('purpose', '=', 'verify-email')
    .execute()
}
