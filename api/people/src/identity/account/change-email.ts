// The new address takes effect when its owner follows the mailed link; until then nothing reveals whether it is taken.

import { randomBytes } from 'node:crypto'
import { foldAddress } from '@matte/core/address'
import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { MatteError } from '@matte/core/error'
import { invalidParam } from '@matte/core/invalid-params'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { sql } from 'kysely'
import { requireMailAllowed } from '../../mail/mail-limits.ts'
import { queueMail } from '../../mail/mail-queue.ts'
import { takeCodeIfOn } from '../two-factor/take-code.ts'
import { deleteMailTokens, hashMailToken } from './mail-token.ts'
import { anonymise, lockPerson } from './person-queries.ts'

type Keys = { readonly db: Db; readonly masterKeys: MasterKeys }

const lifeHours = 24
/** Requests per user and hour: the mails go to addresses that the user may not own. */
const changesPerHour = 5

type ChangeRequest = {
  readonly userId: string
  readonly newEmail: string
  readonly code: string | undefined
  readonly linkOf: (token: string) => string
  readonly audit: Audit
}

/** @throws MatteError INVALID_PARAMS: the current address, or a wrong code; RATE_LIMIT_EXCEEDED */
export async function requestEmailChange({ db, masterKeys }: Keys, wish: ChangeRequest): Promise<void> {
  const refused = await db.transaction().execute(async (tx) => {
    const { userId, newEmail } = wish
    const { email } = await lockPerson(tx, userId)
    if (foldAddress(email) === foldAddress(newEmail)) throw invalidParam('/body/newEmail', 'is already your address')
    await refuseTooMany(tx, userId)
    const refused = await takeCodeIfOn(tx, masterKeys, { userId, code: wish.code })
    if (refused !== undefined) return refused
    await requireMailAllowed(tx, newEmail)
    const token = randomBytes(32).toString('base64url')
    await insertChange(tx, { userId, newEmail, tokenHash: hashMailToken(token) })
    const url = wish.linkOf(token)
    await queueMail(tx, masterKeys, { template: 'confirm-email', data: { url }, to: newEmail, userId, key: null })
    await queueMail(tx, masterKeys, { template: 'email-changing', data: { newEmail }, to: email, userId, key: null })
    await wish.audit(tx)
    return undefined
  })
  if (refused !== undefined) throw refused
}

async function refuseTooMany(tx: Db, userId: string): Promise<void> {
  const { rows } = await sql<{ count: number; seconds: number }>`
    select count(*) as count, extract(epoch from min(created_at) + interval '1 hour' - now())::float8 as seconds
      from email_change where user_id = ${userId} and created_at > now() - interval '1 hour'`.execute(tx)
  const { count = 0, seconds = 0 } = rows[0] ?? {}
  if (count < changesPerHour) return
  throw new MatteError('RATE_LIMIT_EXCEEDED', `You can request ${changesPerHour} address changes an hour.`, {
    details: { limit: 'emailChanges', perHour: changesPerHour },
    retryAfterSeconds: seconds,
  })
}

type NewChange = { readonly userId: string; readonly newEmail: string; readonly tokenHash: Buffer }

async function insertChange(tx: Db, { userId, newEmail, tokenHash }: NewChange): Promise<void> {
  await sql`delete from email_change where user_id = ${userId} and expires_at <= now()`.execute(tx)
  await tx
    .insertInto('email_change')
    .values({
      user_id: userId,
      new_email: newEmail,
      token_hash: tokenHash,
      created_at: sql`clock_timestamp()`,
      expires_at: sql`now() + ${lifeHours} * interval '1 hour'`,
    })
    .execute()
}

export async function isChangeOpen(db: Db, token: string): Promise<boolean> {
  const { rows } = await sql`
    select from email_change where token_hash = ${hashMailToken(token)}::bytea and expires_at > now()`.execute(db)
  return rows.length > 0
}

/** Returns the new address. @throws MatteError INVALID_PARAMS: the token; CONFLICT: another account has the address */
export async function confirmEmail(db: Db, userId: string, token: string): Promise<string> {
  try {
    return await inTransaction(db, async (tx) => {
      await lockPerson(tx, userId)
      const newEmail = await takeChange(tx, userId, token)
      if (newEmail === undefined) throw invalidParam('/body/token', 'is invalid or has expired')
      await freeUnproven(tx, userId, newEmail)
      // A reset link in the old mailbox must not open the account.
      await deleteMailTokens(tx, 'reset-password', userId)
      const key = foldAddress(newEmail)
      await sql`update app_user set email = ${newEmail}, email_key = ${key}, email_verified_at = now()
                 where id = ${userId}`.execute(tx)
      return newEmail
    })
  } catch (error) {
    // Two accounts confirmed the address at once; the unique index rejects one.
    if (error instanceof Error && 'constraint' in error && error.constraint === 'app_user_email_key') {
      throw new MatteError('CONFLICT', 'Another account has this address.', { cause: error })
    }
    throw error
  }
}

/** Spends the newest request if the token matches; deletes all requests of the user. */
async function takeChange(tx: Db, userId: string, token: string): Promise<string | undefined> {
  const { rows } = await sql<{ newEmail: string; found: boolean }>`
    select new_email as "newEmail", token_hash = ${hashMailToken(token)}::bytea and expires_at > now() as found
      from email_change where user_id = ${userId} order by created_at desc, id desc limit 1`.execute(tx)
  const [newest] = rows
  if (newest === undefined || !newest.found) return undefined
  await tx.deleteFrom('email_change').where('user_id', '=', userId).execute()
  return newest.newEmail
}

async function freeUnproven(tx: Db, userId: string, email: string): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from app_user
     where email_key = ${foldAddress(email)} and erased_at is null and email_verified_at is null and id <> ${userId}
       for no key update`.execute(tx)
  for (const { id } of rows) {
    await tx.deleteFrom('mail_token').where('user_id', '=', id).execute()
    await anonymise(tx, id)
  }
}
