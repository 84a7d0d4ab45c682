import type { Db } from '@matte/core/db/database'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '@matte/core/db/page'
import { sql } from 'kysely'

type Counts = {
  readonly invited: number
  readonly joined: number
  readonly rewarded: number
  readonly creditsEarned: number
}

export async function countOutcomes(db: Db, userId: string): Promise<Counts> {
  const { rows } = await sql<Counts>`
    select count(*) as invited, count(invited_id) as joined,
           count(*) filter (where status = 'rewarded') as rewarded,
           coalesce(sum(credits) filter (where status = 'rewarded'), 0) as "creditsEarned"
      from referral where referrer_id = ${userId}`.execute(db)
  return rows[0] as Counts // an aggregate without GROUP BY has one row
}

const referralsOf = (db: Db, userId: string) =>
  db
    .selectFrom('referral as r')
    .leftJoin('app_user as u', (join) => join.onRef('u.id', '=', 'r.invited_id').on('u.erased_at', 'is', null))
    .where('r.referrer_id', '=', userId)
    .select(['r.id', 'r.status', 'r.credits', 'r.invited_at', 'r.joined_at', 'r.decided_at', 'r.created_at'])
    // The account's current address; null after its erasure.
    .select(sql<string | null>`case when r.invited_id is null then r.email else u.email end`.as('email'))
    .select(sql<string>`(extract(epoch from r.created_at) * 1000000)::bigint::text`.as('created_at_micros'))

export function listReferrals(db: Db, userId: string, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return referralsOf(db, userId)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(r.created_at, r.id) < (${at}, ${after?.id}::uuid)`))
    .orderBy('r.created_at', 'desc')
    .orderBy('r.id', 'desc')
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
    .execute()
}

export type ReferralRow = Awaited<ReturnType<typeof listReferrals>>[number]

export const findReferral = (db: Db, userId: string, id: string): Promise<ReferralRow | undefined> =>
  referralsOf(db, userId).where('r.id', '=', id).executeTakeFirst()

export function countReferrals(db: Db, userId: string): Promise<ListTotal> {
  return countRows(db, db.selectFrom('referral').where('referrer_id', '=', userId).select('id'))
}
