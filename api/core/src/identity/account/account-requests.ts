// What somebody who is not signed in asks for by an address: an account, or a mail. The answer cannot tell whether the
// address has an account, neither by its words nor by its time, because nobody has looked when it is given: the request
// is a row, written alike for all, and `do-account-requests.ts` does it in a moment.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { AccountRequestTable } from '../../db/tables/sign-in.ts'

type Registration = {
  readonly email: string
  readonly passwordHash: string
  readonly name: string | null
  readonly referralCode: string | null
  readonly ipAddress: string | null
}

export async function askForAccount(db: Db, registration: Registration): Promise<void> {
  const { email, passwordHash, name, referralCode, ipAddress } = registration
  await db
    .insertInto('account_request')
    .values({
      kind: 'register',
      email,
      password_hash: passwordHash,
      name,
      referral_code: referralCode,
      ip_address: ipAddress,
    })
    .execute()
}

export const askForVerification = (db: Db, email: string): Promise<void> => insert(db, 'verify-email', email)
export const askForReset = (db: Db, email: string): Promise<void> => insert(db, 'reset-password', email)

async function insert(db: Db, kind: AccountRequestTable['kind'], email: string): Promise<void> {
  await db.insertInto('account_request').values({ kind, email }).execute()
}

const columns = ['id', 'kind', 'email', 'password_hash', 'name', 'referral_code', 'ip_address'] as const

export type AccountRequest = Pick<AccountRequestTable, Exclude<(typeof columns)[number], 'id'>> & {
  readonly id: number
}

/** Those that are due, oldest first. */
export const listDueRequests = (db: Db, limit: number): Promise<AccountRequest[]> =>
  db
    .selectFrom('account_request')
    .select(columns)
    .where('due_at', '<=', sql<Date>`now()`)
    .orderBy('due_at')
    .orderBy('id')
    .limit(limit)
    .execute()

/** Takes it for the caller's transaction. False: another replica has it, or has done it. */
export async function takeRequest(tx: Db, id: number): Promise<boolean> {
  const row = await tx
    .selectFrom('account_request')
    .select('id')
    .where('id', '=', id)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
  if (row === undefined) return false
  await tx.deleteFrom('account_request').where('id', '=', id).execute()
  return true
}

/** A request that failed is tried again after 1, 2, 4, … seconds, and given up after a day. */
export async function postponeRequest(db: Db, id: number): Promise<void> {
  await sql`
    with given_up as (delete from account_request where id = ${id} and created_at < now() - interval '1 day')
    update account_request
       set attempt = attempt + 1, due_at = now() + least(600, 2 ^ least(attempt, 10)) * interval '1 second'
     where id = ${id} and created_at >= now() - interval '1 day'`.execute(db)
}
