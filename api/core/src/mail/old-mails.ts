// What time does to mails: some wait for too long, and what is known of the others is forgotten.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SweepPass } from '../db/sweep.ts'

/** A mail that no server has taken by then is given up: RFC 5321 asks for four or five days, links die sooner. */
const mailLifeDays = 3
/** How long it is known that a mail was sent, and that it is not to be sent again. */
const keptDays = 90

/** Ends what has waited for too long; returns their templates. */
export async function giveUpOldMails(db: Db, { limit = 500 }: SweepPass = {}): Promise<string[]> {
  const { rows } = await sql<{ template: string }>`
    with old as materialized (
      select id from mail
       where status = 'pending' and created_at <= now() - ${mailLifeDays} * interval '1 day'
         and (claim is null or claimed_until <= now())
       order by created_at limit ${limit} for update skip locked
    )
    update mail m
       set status = 'failed', completed_at = now(), to_address = null, to_key = null, data_sealed = null,
           claim = null, claimed_until = null, error = concat_ws(' ', 'EXPIRED', m.error)
      from old where m.id = old.id
    returning m.template`.execute(db)
  return rows.map(({ template }) => template)
}

/**
 * How long the oldest mail has waited that waits for us or for the mail server, not for its recipient's: one that was
 * greeted with a 4xx has been answered.
 */
export async function readMailAgeMs(db: Db): Promise<number> {
  const { rows } = await sql<{ ageMs: number }>`
    select (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs" from mail
     where status = 'pending' and (error is null or error !~ '^[45]') order by created_at limit 1`.execute(db)
  return rows[0]?.ageMs ?? 0
}

/** Rows of mails that ended long ago. */
export async function deleteOldMails(db: Db, { now, limit = 1_000 }: SweepPass = {}): Promise<number> {
  const at = now === undefined ? sql`now()` : sql`${now}::timestamptz`
  const { numAffectedRows = 0n } = await sql`
    delete from mail where id in (
      select id from mail where completed_at <= ${at} - ${keptDays} * interval '1 day'
       order by completed_at limit ${limit} for update skip locked)`.execute(db)
  return Number(numAffectedRows)
}
