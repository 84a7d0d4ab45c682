// What becomes of a mail that was claimed. Once it is sent or given up, its address and what filled it are gone (D17).
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SweepPass } from '../db/sweep.ts'
import type { MailRef } from './claim-mails.ts'

/** A mail that no server has taken by then is given up: RFC 5321 asks for four or five days, links die sooner. */
const mailLifeDays = 3
/** How long it is known that a mail was sent, and that it is not to be sent again. */
const keptDays = 90

const ended = { to_address: null, data_sealed: null, claim: null, claimed_until: null } as const

/** Of a pending mail with this claim; undefined: the claim is somebody else's by now, and nothing was written. */
const claimed = (db: Db, { id, claim }: MailRef) =>
  db.updateTable('mail').where('id', '=', id).where('claim', '=', claim).returning('id')

export const recordSent = (db: Db, mail: MailRef) =>
  claimed(db, mail)
    .set({ ...ended, status: 'sent', error: null, completed_at: sql<Date>`now()` })
    .executeTakeFirst()

/** Refused for good. `error` names the answer and nobody's address. */
export const recordRefused = (db: Db, mail: MailRef, error: string) =>
  claimed(db, mail)
    .set({ ...ended, status: 'failed', error, completed_at: sql<Date>`now()` })
    .executeTakeFirst()

type Postponed = {
  readonly error: string
  readonly delayMs: number
  /** False: the mail had no part in it, since no server was there to answer. */
  readonly counts: boolean
}

export const postpone = (db: Db, mail: MailRef, { error, delayMs, counts }: Postponed) =>
  claimed(db, mail)
    .set((eb) => ({
      error,
      claim: null,
      claimed_until: null,
      due_at: sql<Date>`now() + ${delayMs} * interval '1 ms'`,
      ...(!counts && { attempt: eb('attempt', '-', 1) }),
    }))
    .executeTakeFirst()

/** Attempt n is followed by the next after 1, 2, 4, … minutes, an hour at most. */
export const retryDelayMs = (attempt: number): number => Math.min(2 ** (attempt - 1), 60) * 60_000

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
       set status = 'failed', completed_at = now(), to_address = null, data_sealed = null, claim = null,
           claimed_until = null, error = concat_ws(' ', 'EXPIRED', m.error)
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
