// Tokens in links of mails: random, stored hashed, used once.
import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { MailTokenTable } from '../../db/tables/sign-in.ts'
import { canHaveToken, type WantedToken } from './live-tokens.ts'

type Purpose = MailTokenTable['purpose']

/** Minutes that each is good for: a day to prove an address, ten to set a password. */
const minutes: Readonly<Record<Purpose, number>> = { 'verify-email': 24 * 60, 'reset-password': 10 }

export const hashMailToken = (token: string): Buffer => createHash('sha256').update(token).digest()

/** A new token. Undefined: the account has as many as it may, and those work. Its row is locked by the caller. */
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

/** Whose token it is, as long as it works. */
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

/**
 * Takes the token; with it go all others of its kind that its owner has. Undefined: it does not work, or no longer.
 * The account's row is locked first, as by whoever makes tokens void: else the two could wait for each other.
 */
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
