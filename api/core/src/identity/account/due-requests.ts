import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { AccountRequestTable } from '../../db/tables/sign-in.ts'

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

/** Requests that may send a mail to verify an address wait for a few seconds, and are given up after a day. */
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
