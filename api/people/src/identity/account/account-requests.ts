// Requests of clients that are not signed in: registration, and mails to verify an address or reset a password. The API
// only inserts a row, so its response and timing do not reveal whether the address has an account.
// `process-account-requests.ts` handles the row asynchronously.

import { createHmac, hkdfSync } from 'node:crypto'
import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import type { AccountRequestTable } from '@matte/core/db/tables/account'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { sql } from 'kysely'

type Registration = {
  readonly email: string
  readonly passwordHash: string
  readonly name: string | null
  readonly referralCode: string | null
  readonly ipAddress: string | null
  /** BCP 47. Null: not known. */
  readonly locale: string | null
}

export async function requestAccount(db: Db, registration: Registration): Promise<void> {
  const { email, passwordHash, name, referralCode, ipAddress, locale } = registration
  await db
    .insertInto('account_request')
    .values({
      kind: 'register',
      email,
      email_key: foldAddress(email),
      password_hash: passwordHash,
      name,
      referral_code: referralCode,
      ip_address: ipAddress,
      locale,
    })
    .execute()
}

export const requestVerification = (db: Db, email: string): Promise<void> => insert(db, 'verify-email', email)
export const requestPasswordReset = (db: Db, email: string): Promise<void> => insert(db, 'reset-password', email)

async function insert(db: Db, kind: AccountRequestTable['kind'], email: string): Promise<void> {
  await db
    .insertInto('account_request')
    .values({ kind, email, email_key: foldAddress(email) })
    .execute()
}

const columns = ['id', 'kind', 'email', 'password_hash', 'name', 'referral_code', 'ip_address', 'locale'] as const

export type AccountRequest = Pick<AccountRequestTable, Exclude<(typeof columns)[number], 'id'>> & {
  readonly id: number
}

export const listDueRequests = (db: Db, limit: number): Promise<AccountRequest[]> =>
  db
    .selectFrom('account_request')
    .select(columns)
    .where('due_at', '<=', sql<Date>`now()`)
    .orderBy('due_at')
    .orderBy('id')
    .limit(limit)
    .execute()

/** Locks and deletes the request. Returns false if another replica handles it. */
export async function claimRequest(tx: Db, id: number): Promise<boolean> {
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

/** Retries after 1, 2, 4, … seconds, 10 minutes at most; deletes the request after a day. */
export async function postponeRequest(db: Db, id: number): Promise<void> {
  await sql`
    with given_up as (delete from account_request where id = ${id} and created_at < now() - interval '1 day')
    update account_request
       set attempt = attempt + 1, due_at = now() + least(600, 2 ^ least(attempt, 10)) * interval '1 second'
     where id = ${id} and created_at >= now() - interval '1 day'`.execute(db)
}

/** Postpones all requests that send verification mails by 5 seconds; deletes those older than a day. */
export async function delayVerifications(db: Db): Promise<void> {
  await sql`
    with due as materialized (
      select id, created_at < now() - interval '1 day' as is_old from account_request
       where kind <> 'reset-password' and due_at <= now() for update skip locked
    ), given_up as (
      delete from account_request a using due where a.id = due.id and due.is_old
    )
    update account_request a set due_at = now() + interval '5 seconds'
      from due where a.id = due.id and not due.is_old`.execute(db)
}

/** Depends on address and master key only, so a repeated registration with the same password has the same hash. */
export function registrationSalt(keys: MasterKeys, email: string): Buffer {
  const [key] = keys.values()
  if (key === undefined) throw new Error('no master key')
  const derived = Buffer.from(hkdfSync('sha256', key, '', 'matte registration salt', 32))
  return createHmac('sha256', derived).update(foldAddress(email)).digest().subarray(0, 16)
}
