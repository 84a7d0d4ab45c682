import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { createOnce, type OnceRequest } from '@matte/core/idempotency/create-once'
import { invalidParam } from '@matte/core/invalid-params'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { sql } from 'kysely'
import { allowMail } from '../mail/mail-limits.ts'
import { queueMail } from '../mail/mail-queue.ts'
import { readCode } from './referral-code.ts'

type Invitation = {
  readonly userId: string
  readonly email: string
  readonly linkOf: (code: string) => string
  readonly once: OnceRequest | undefined
}

export const invitationsPerDay = 20
/** Mails per address and week, from all inviters. Further invitations are stored without a mail. */
const mailsPerAddress = 3

/**
 * Invites an address by mail. Returns an earlier invitation of the same address by this user without another mail. The
 * response does not depend on whether the address has an account.
 * @throws MatteError INVALID_PARAMS: the user's own address; RATE_LIMIT_EXCEEDED, CONFLICT; AlreadyCreated
 */
export function inviteByMail(db: Db, masterKeys: MasterKeys, invitation: Invitation): Promise<{ id: string }> {
  const { userId, linkOf, once } = invitation
  const email = invitation.email.trim()
  return createOnce(db, once, async (tx) => {
    // Serializes the user's invitations, so concurrent requests count each other.
    const inviter = await tx
      .selectFrom('app_user')
      .select(['name', 'email', 'locale'])
      .where('id', '=', userId)
      .forNoKeyUpdate()
      .executeTakeFirstOrThrow()
    if (foldAddress(inviter.email) === foldAddress(email)) throw invalidParam('/body/email', 'is your own address')
    const earlier = await findEarlier(tx, userId, email)
    if (earlier !== undefined) return earlier
    await refuseTooMany(tx, userId)
    const sendsMail = (await countMails(tx, email)) < mailsPerAddress && (await allowMail(tx, 'invited', email))
    const { id } = await tx
      .insertInto('referral')
      .values({
        referrer_id: userId,
        email,
        email_key: foldAddress(email),
        status: 'invited',
        invited_at: sql<Date>`now()`,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const { name, email: inviterEmail, locale: inviterLocale } = inviter
    const data = { inviterName: name ?? '', inviterEmail, inviterLocale, url: linkOf(await readCode(tx, userId)) }
    const template = 'referral-invitation' as const
    if (sendsMail) await queueMail(tx, masterKeys, { template, data, key: `referral:${id}`, to: email, userId: null })
    return { id }
  })
}

const findEarlier = (tx: Db, userId: string, email: string) =>
  tx
    .selectFrom('referral as r')
    .leftJoin('app_user as u', 'u.id', 'r.invited_id')
    .select('r.id')
    .where('r.referrer_id', '=', userId)
    .where(sql<boolean>`coalesce(r.email_key, u.email_key) = ${foldAddress(email)}`)
    .executeTakeFirst()

async function refuseTooMany(tx: Db, userId: string): Promise<void> {
  const { rows } = await sql<{ waitSeconds: number }>`
    select extract(epoch from invited_at + interval '1 day' - now())::int as "waitSeconds" from referral
     where referrer_id = ${userId} and invited_at > now() - interval '1 day'
     order by invited_at desc offset ${invitationsPerDay - 1} limit 1`.execute(tx)
  if (rows[0] === undefined) return
  throw new MatteError('RATE_LIMIT_EXCEEDED', `You can invite ${invitationsPerDay} people in 24 hours.`, {
    details: { limit: 'invitations', perDay: invitationsPerDay },
    retryAfterSeconds: rows[0].waitSeconds,
  })
}

async function countMails(tx: Db, email: string): Promise<number> {
  const { count } = await tx
    .selectFrom('referral')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where(sql<boolean>`email_key = ${foldAddress(email)} and invited_at > now() - interval '7 days'`)
    .executeTakeFirstOrThrow()
  return count
}
