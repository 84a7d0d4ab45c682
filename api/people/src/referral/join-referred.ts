import type { Db } from '@matte/core/db/database'
import { idsAside, type SweepPass, sumEach } from '@matte/core/db/sweep'
import { type RawBuilder, sql } from 'kysely'
import { findReferrer } from './referral-code.ts'

/** Links new users to the referrer whose code they registered with, once, after they verify their address. */
export async function joinReferred(db: Db, pass: SweepPass = {}): Promise<number> {
  const due = await db
    .selectFrom('app_user')
    .select('id')
    .where('referral_code', 'is not', null)
    .where('referral_judged_at', 'is', null)
    .where('email_verified_at', 'is not', null)
    .where('erased_at', 'is', null)
    .where(sql<boolean>`id <> all(${idsAside(pass)}::uuid[])`)
    .orderBy('email_verified_at')
    .limit(pass.limit ?? 100)
    .execute()
  return sumEach(due, pass, ({ id }) => db.transaction().execute((tx) => join(tx, id)))
}

/** Unknown codes and the user's own are dropped. */
async function join(tx: Db, userId: string): Promise<number> {
  const user = await tx
    .updateTable('app_user')
    .set({ referral_judged_at: sql<Date>`now()` })
    .where('id', '=', userId)
    .where('referral_judged_at', 'is', null)
    .returning(['email_key', 'referral_code'])
    .executeTakeFirst()
  if (user === undefined) return 0 // another replica was first
  const referrer = await findReferrer(tx, user.referral_code ?? '')
  if (referrer === undefined || referrer.id === userId) return 1
  const joined = {
    invited_id: userId,
    // The account holds the address now, and removes it when it is erased.
    email: null,
    email_key: null,
    status: 'joined',
    joined_at: sql<Date>`now()`,
    check_at: sql<Date>`now()`,
    suspicion: (await sharesNetwork(tx, userId, referrer.id)) ? 'address' : null,
  } as const
  const invited = await tx
    .updateTable('referral')
    .set(joined)
    .where('referrer_id', '=', referrer.id)
    .where('status', '=', 'invited')
    .where('email_key', '=', user.email_key)
    .returning('id')
    .executeTakeFirst()
  if (invited !== undefined) return 1
  await tx
    .insertInto('referral')
    .values({ ...joined, referrer_id: referrer.id })
    .onConflict((conflict) => conflict.column('invited_id').doNothing())
    .execute()
  return 1
}

/** Network range of one customer: /24 of IPv4, also mapped into IPv6, and /48 of IPv6. */
const rangeOf = (address: RawBuilder<unknown>) => sql`
  network(set_masklen(${address}, case when family(${address}) = 4 then 24
                                       when ${address} << '::ffff:0.0.0.0/96' then 120 else 48 end))`

/** Whether the user registered from the referrer's network within an hour of the referrer's activity there. */
async function sharesNetwork(tx: Db, userId: string, referrerId: string): Promise<boolean> {
  const { rows } = await sql<{ nearby: boolean }>`
    select exists (
      select from (
        select registered_from as ip, created_at as since, created_at as until from app_user where id = ${referrerId}
        union all
        select ip_address, created_at, last_used_at from session where user_id = ${referrerId}
      ) known
       where ${rangeOf(sql`known.ip`)} = ${rangeOf(sql`u.registered_from`)}
         and u.created_at between since - interval '1 hour' and until + interval '1 hour'
    ) as nearby
      from app_user u where u.id = ${userId}`.execute(tx)
  return rows[0]?.nearby === true
}
