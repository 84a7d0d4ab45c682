// Deletes what signing in has left behind, a bounded number of rows a pass, so that a pass is short however much there
// is. Every replica does it; what one has deleted another does not find.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Rows of a table that a pass deletes at most; a session takes its refresh tokens with it. */
const rowsAtOnce = 1_000

/** What has ended, and how long it is kept: history for 90 days, that of addresses without an account for one. */
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

/** One pass; how many rows of each kind it deleted. */
export async function cleanSignIn(db: Db): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const [name, deletion] of Object.entries(deletions)) {
    const { numAffectedRows = 0n } = await deletion.execute(db)
    counts[name] = Number(numAffectedRows)
  }
  return counts
}
