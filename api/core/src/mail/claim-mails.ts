// Which due mails are sent next. What somebody waits for in front of a page (a link to verify, to reset, an invitation)
// comes before notifications, however many of those there are; each has an index of its own. A dispatcher that dies
// keeps its claims until they lapse; then anyone claims the same attempt again.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { defaultPlace, type PersonPlace } from './person-format.ts'

export type MailRef = { readonly id: string; readonly claim: string }

/** With the locale and time zone of the account that it goes to; the defaults where it goes to none. */
export type ClaimedMail = MailRef &
  PersonPlace & {
    readonly to: string
    readonly template: string
    readonly dataSealed: string
    /** 1, 2, …: only attempts that a server has answered, or that failed after it had the mail, count. */
    readonly attempt: number
    /** The database's clock when this was claimed. */
    readonly claimedAt: Date
    /** The claim before this one had expired: its dispatcher died, or was cut off from the database. */
    readonly takenOver: boolean
  }

type ClaimOptions = {
  /** At most so many: the free slots. */
  readonly limit: number
  /** How long the claim holds; longer than an attempt can last. */
  readonly claimMs: number
}

export async function claimDueMails(db: Db, { limit, claimMs }: ClaimOptions): Promise<ClaimedMail[]> {
  const first = await claim(db, { limit, claimMs, notifications: false })
  if (first.length >= limit) return first
  return [...first, ...(await claim(db, { limit: limit - first.length, claimMs, notifications: true }))]
}

/** Until when a pending mail can be claimed by nobody: the expression of its indexes. */
const from = sql`coalesce(claimed_until, due_at)`

/** Whoever wrote a mail may not have seen yet that its person was erased: then it goes as the others did. */
async function claim(db: Db, options: ClaimOptions & { readonly notifications: boolean }): Promise<ClaimedMail[]> {
  const { limit, claimMs, notifications } = options
  const { locale, timeZone } = defaultPlace
  const { rows } = await sql<ClaimedMail>`
    with due as materialized (
      select id, claim is not null as lapsed, u.locale, u.time_zone, coalesce(u.is_erased, false) as is_erased
        from mail
        left join lateral (
          select locale, time_zone, erased_at is not null as is_erased from app_user where app_user.id = mail.user_id
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
              clock_timestamp() as "claimedAt", due.lapsed as "takenOver",
              coalesce(due.locale, ${locale}) as "locale", coalesce(due.time_zone, ${timeZone}) as "timeZone"`.execute(
    db,
  )
  return rows
}
