// A new address of an account: it counts from the moment in which the link in the mail to it was followed. Whether it
// belongs to somebody already is said to nobody before that: asking does the same either way.
import { createHash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { foldAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { invalidParam } from '../../invalid-params.ts'
import { requireMailRoom } from '../../mail/mail-room.ts'
import { queueMail } from '../../mail/queue-mail.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { deleteMailTokens } from '../account/mail-token.ts'
import { anonymise, lockPerson } from '../personal/person-queries.ts'
import { takeCodeIfOn } from '../two-factor/take-code.ts'

type Keys = { readonly db: Db; readonly masterKeys: MasterKeys }

const lifeHours = 24
/** Mails to addresses that somebody else may own, so that nobody is bombed with them. */
const changesPerHour = 5

type Wish = {
  readonly userId: string
  readonly newEmail: string
  readonly code: string | undefined
  /** Where the mail leads, with the token. */
  readonly linkOf: (token: string) => string
}

/** @throws MatteError INVALID_PARAMS: the address is the present one, or the code; RATE_LIMIT_EXCEEDED */
export async function askForEmail({ db, masterKeys }: Keys, wish: Wish): Promise<void> {
  const refused = await db.transaction().execute(async (tx) => {
    const { userId, newEmail } = wish
    const { email } = await lockPerson(tx, userId)
    if (foldAddress(email) === foldAddress(newEmail)) throw invalidParam('/body/newEmail', 'is your address already')
    await refuseTooMany(tx, userId)
    const refused = await takeCodeIfOn(tx, masterKeys, { userId, code: wish.code })
    if (refused !== undefined) return refused
    await requireMailRoom(tx, newEmail)
    const token = randomBytes(32).toString('base64url')
    await insertChange(tx, { userId, newEmail, tokenHash: hash(token) })
    const url = wish.linkOf(token)
    await queueMail(tx, masterKeys, { template: 'confirm-email', data: { url }, to: newEmail, userId, key: null })
    await queueMail(tx, masterKeys, { template: 'email-changing', data: { newEmail }, to: email, userId, key: null })
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
  throw new MatteError('RATE_LIMIT_EXCEEDED', `You can ask for ${changesPerHour} new addresses an hour.`, {
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

/** Whether the link of this token can still confirm an address. */
export async function isChangeOpen(db: Db, token: string): Promise<boolean> {
  const { rows } = await sql`
    select from email_change where token_hash = ${hash(token)}::bytea and expires_at > now()`.execute(db)
  return rows.length > 0
}

/**
 * The address of the token's mail, which is the account's from now on. A later wish makes an earlier one void.
 * @throws MatteError INVALID_PARAMS: the token; CONFLICT: the address belongs to another account by now
 */
export async function confirmEmail(db: Db, userId: string, token: string): Promise<string> {
  try {
    return await db.transaction().execute(async (tx) => {
      await lockPerson(tx, userId)
      const newEmail = await takeChange(tx, userId, token)
      if (newEmail === undefined) throw invalidParam('/body/token', 'is not valid, or no longer')
      await freeUnproven(tx, userId, newEmail)
      // A link that lies in the mailbox of the address before would still open the account.
      await deleteMailTokens(tx, 'reset-password', userId)
      const key = foldAddress(newEmail)
      await sql`update app_user set email = ${newEmail}, email_key = ${key}, email_verified_at = now()
                 where id = ${userId}`.execute(tx)
      return newEmail
    })
  } catch (error) {
    // Two accounts that confirm it at once: the index lets one of them have it.
    if (error instanceof Error && 'constraint' in error && error.constraint === 'app_user_email_key') {
      throw new MatteError('CONFLICT', 'Another account has this address.', { cause: error })
    }
    throw error
  }
}

/** The newest wish alone; all of the person's go with it. */
async function takeChange(tx: Db, userId: string, token: string): Promise<string | undefined> {
  const { rows } = await sql<{ newEmail: string; found: boolean }>`
    select new_email as "newEmail", token_hash = ${hash(token)}::bytea and expires_at > now() as found
      from email_change where user_id = ${userId} order by created_at desc, id desc limit 1`.execute(tx)
  const [newest] = rows
  if (newest === undefined || !newest.found) return undefined
  await tx.deleteFrom('email_change').where('user_id', '=', userId).execute()
  return newest.newEmail
}

/** An account that was registered with the address and has never proved it gives way to who has. */
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

const hash = (token: string): Buffer => createHash('sha256').update(token).digest()
