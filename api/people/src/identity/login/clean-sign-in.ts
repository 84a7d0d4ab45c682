// Deletes expired rows of logins, sessions and tokens, and accounts that were never verified. Every replica runs it;
// each pass is bounded.
import type { Db } from '@matte/core/db/database'
import { type RawBuilder, sql } from 'kysely'
import { deleteUnverified } from '../account/delete-unverified.ts'

/** Rows per table and pass; a session's refresh tokens go with it. */
const rowsAtOnce = 1_000

const deletions = {
  sessions: sql`delete from session where id in (
    select id from session where least(expires_at, ended_at) < now() - interval '1 day' limit ${rowsAtOnce})`,
  mail_tokens: sql`delete from mail_token where hash in (
    select hash from mail_token where expires_at < now() limit ${rowsAtOnce})`,
  login_events: sql`delete from login_event where id in (
    select id from login_event where at < now() - interval '90 days' limit ${rowsAtOnce})`,
  nobodys_login_events: sql`delete from login_event where id in (
    select id from login_event where user_id is null and at < now() - interval '1 day' limit ${rowsAtOnce})`,
  login_failures: sql`delete from login_failure where (account, network) in (
    select account, network from login_failure where last_at < now() - interval '1 day' limit ${rowsAtOnce})`,
  mail_rooms: sql`delete from mail_room where (address, kind) in (
    select address, kind from mail_room where spent_until < now() limit ${rowsAtOnce})`,
  free_credits: sql`delete from free_credit where mailbox in (
    select mailbox from free_credit where forget_at <= now() limit ${rowsAtOnce})`,
} as const satisfies Record<string, RawBuilder<unknown>>

export async function cleanSignIn(db: Db): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const [name, deletion] of Object.entries(deletions)) {
    const { numAffectedRows = 0n } = await deletion.execute(db)
    counts[name] = Number(numAffectedRows)
  }
  return { ...counts, unverified_accounts: await deleteUnverified(db) }
}
