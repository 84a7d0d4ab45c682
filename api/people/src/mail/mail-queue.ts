// A mail is a row, inserted in the transaction that causes it and sent by the dispatcher (D73). Mails that a user waits
// for go before notifications; each class has an index. Claims of a dead dispatcher expire and are repeated. A finished
// mail loses its address and data.
import { randomUUID } from 'node:crypto'
import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import type { SweepPass } from '@matte/core/db/sweep'
import { type MasterKeys, seal } from '@matte/core/runtime/seal'
import { sql } from 'kysely'
import type { PersonLocale } from './person-format.ts'
import type { MailData } from './templates.ts'

type NewMail = MailData & {
  /** Idempotency key: a second mail with the same key is dropped. Null: always a new mail. */
  readonly key: string | null
  readonly to: string
  readonly userId: string | null
}

export async function queueMail(tx: Db, masterKeys: MasterKeys, mail: NewMail): Promise<void> {
  const id = randomUUID()
  await tx
    .insertInto('mail')
    .values({
      id,
      mail_key: mail.key,
      user_id: mail.userId,
      to_address: mail.to,
      to_key: foldAddress(mail.to),
      template: mail.template,
      data_sealed: seal(masterKeys, id, JSON.stringify(mail.data)),
    })
    .onConflict((conflict) => conflict.column('mail_key').doNothing())
    .execute()
}

export type MailRef = { readonly id: string; readonly claim: string }

export type ClaimedMail = MailRef & {
  readonly to: string
  readonly template: string
  readonly dataSealed: string
  /** 1, 2, …: counts attempts that a server answered, or that failed after it had the mail. */
  readonly attempt: number
  /** Database time of the claim. */
  readonly claimedAt: Date
  /** The previous claim expired: its dispatcher died or lost the database. */
  readonly takenOver: boolean
  /** Null if the address has no account. */
  readonly account: PersonLocale | null
}

type ClaimOptions = {
  readonly limit: number
  /** Longer than an attempt can take. */
  readonly claimMs: number
}

export async function claimDueMails(db: Db, { limit, claimMs }: ClaimOptions): Promise<ClaimedMail[]> {
  const first = await claim(db, { limit, claimMs, notifications: false })
  if (first.length >= limit) return first
  return [...first, ...(await claim(db, { limit: limit - first.length, claimMs, notifications: true }))]
}

/** The expression of the indexes. */
const from = sql`coalesce(claimed_until, due_at)`

/** Deletes due mails of erased users: their transaction may not have seen the erasure. */
async function claim(db: Db, options: ClaimOptions & { readonly notifications: boolean }): Promise<ClaimedMail[]> {
  const { limit, claimMs, notifications } = options
  const { rows } = await sql<ClaimedMail>`
    with due as materialized (
      select id, claim is not null as lapsed, u.account, coalesce(u.is_erased, false) as is_erased
        from mail
        left join lateral (
          select json_build_object('locale', locale, 'timeZone', time_zone) as account,
                 erased_at is not null as is_erased
            from app_user where app_user.id = mail.user_id
        ) u on true
       where status = 'pending' and template ${sql.raw(notifications ? '=' : '<>')} 'notification' and ${from} <= now()
       order by ${from} limit ${limit}::int for update of mail skip locked
    ), dropped as (
      delete from mail m using due where m.id = due.id and due.is_erased
    )
    update mail m
       set attempt = m.attempt + (m.claim is null)::int, claim = gen_random_uuid(),
           claimed_until = clock_timestamp() + ${claimMs} * interval '1 ms'
      from due where m.id = due.id and not due.is_erased
    returning m.id, m.claim, m.to_address as "to", m.template, m.data_sealed as "dataSealed", m.attempt,
              clock_timestamp() as "claimedAt", due.lapsed as "takenOver", due.account`.execute(db)
  return rows
}

const ended = { to_address: null, to_key: null, data_sealed: null, claim: null, claimed_until: null } as const

/** Updates a mail under this claim; returns undefined if the claim was lost. */
const claimed = (db: Db, { id, claim }: MailRef) =>
  db.updateTable('mail').where('id', '=', id).where('claim', '=', claim).returning('id')

export const recordSent = (db: Db, mail: MailRef) =>
  claimed(db, mail)
    .set({ ...ended, status: 'sent', error: null, completed_at: sql<Date>`now()` })
    .executeTakeFirst()

/** Fails the mail permanently. `error` holds the server's answer without an address. */
export const recordRefused = (db: Db, mail: MailRef, error: string) =>
  claimed(db, mail)
    .set({ ...ended, status: 'failed', error, completed_at: sql<Date>`now()` })
    .executeTakeFirst()

type Postponed = {
  readonly error: string
  readonly delayMs: number
  /** False if no server was reachable; the attempt does not count. */
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

/** Delay after attempt n: 1, 2, 4, … minutes, an hour at most. */
export const retryDelayMs = (attempt: number): number => Math.min(2 ** (attempt - 1), 60) * 60_000

/** Days until an undelivered mail expires; RFC 5321 suggests four or five, but mailed links expire sooner. */
const mailLifeDays = 3

export async function expireOldMails(db: Db, { limit = 500 }: SweepPass = {}): Promise<string[]> {
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

/** Age of the oldest mail that waits for a dispatcher or the mail server. Mails that a server deferred do not count. */
export async function readMailAgeMs(db: Db): Promise<number> {
  const { rows } = await sql<{ ageMs: number }>`
    select (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs" from mail
     where status = 'pending' and (error is null or error !~ '^[45]') order by created_at limit 1`.execute(db)
  return rows[0]?.ageMs ?? 0
}
