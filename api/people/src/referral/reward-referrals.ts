// A reward falls due after the invited user's first successful task. It is paid at once if that user has bought
// something or `autoApprove` is on; otherwise an operator reviews it. Success is read from daily counters, which
// outlive tasks; idle users are checked less and less often.
import type { Db } from '@matte/core/db/database'
import { idsAside, type SweepPass, sumEach } from '@matte/core/db/sweep'
import type { ReferralTable } from '@matte/core/db/tables/team'
import { lockWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import { findRewardWait, grantReward } from './review-reward.ts'

type Suspicion = NonNullable<ReferralTable['suspicion']>

type RewardSettings = {
  /** 0 disables rewards. */
  readonly credits: number
  /** Pays at once even if the invited user has bought nothing. */
  readonly autoApprove: boolean
}

/** Checks due referrals; returns the number of rewards, including those under review. */
export async function rewardReferrals(db: Db, settings: RewardSettings, pass: SweepPass = {}): Promise<number> {
  if (settings.credits === 0) return 0
  const { rows } = await sql<{ id: string }>`
    with due as materialized (
      select r.id, exists (select from workspace w join usage_day d on d.workspace_id = w.id
                            where w.personal_of = r.invited_id and d.succeeded > 0) as succeeded
        from referral r
       where r.check_at <= now() and r.id <> all(${idsAside(pass)}::uuid[])
       order by r.check_at limit ${pass.limit ?? 100}
         for update of r skip locked
    ), later as (
      update referral r
         set check_at = now() + least(greatest((now() - r.joined_at) * 0.1, interval '5 s'), interval '1 hour')
        from due where due.id = r.id and not due.succeeded
    )
    select id from due where succeeded`.execute(db)
  return sumEach(rows, pass, ({ id }) => db.transaction().execute((tx) => settle(tx, id, settings)))
}

type Parties = {
  readonly referrerId: string
  readonly workspaceId: string | null
  readonly suspicion: Suspicion | null
  readonly samePayer: boolean
  readonly hasBought: boolean
}

async function settle(tx: Db, id: string, { credits, autoApprove }: RewardSettings): Promise<number> {
  const parties = await findParties(tx, id)
  if (parties === undefined) return 0 // the referrer was erased
  const { referrerId, workspaceId } = parties
  if (workspaceId !== null) await lockWorkspace(tx, workspaceId)
  const gone = workspaceId === null
  const suspicion = await reviewReason(tx, parties, autoApprove)
  const status = gone ? 'refused' : suspicion === null ? 'rewarded' : 'review'
  const settled = await tx
    .updateTable('referral')
    .set({
      status,
      suspicion,
      credits: gone ? null : credits,
      check_at: null,
      decided_at: status === 'review' ? null : sql<Date>`now()`,
    })
    .where('id', '=', id)
    .where('status', '=', 'joined')
    .returning('status')
    .executeTakeFirst()
  if (settled === undefined) return 0 // another replica was first
  if (status === 'rewarded' && workspaceId !== null) {
    await grantReward(tx, { id, credits, workspaceId, userId: referrerId })
  }
  return 1
}

/** Reads both personal workspaces. A fully refunded purchase does not count. */
async function findParties(tx: Db, id: string): Promise<Parties | undefined> {
  const { rows } = await sql<Parties>`
    select r.referrer_id as "referrerId", own.id as "workspaceId", r.suspicion,
           coalesce(own.payment_fingerprint = invited.payment_fingerprint, false) as "samePayer",
           exists (select from payment_order o where o.workspace_id = invited.id
                      and o.status in ('paid', 'partially_refunded')) as "hasBought"
      from referral r
      left join workspace own on own.personal_of = r.referrer_id
      left join workspace invited on invited.personal_of = r.invited_id
     where r.id = ${id}`.execute(tx)
  return rows[0]
}

/** Reason for a review by an operator; null if the reward is paid at once. */
async function reviewReason(tx: Db, parties: Parties, autoApprove: boolean): Promise<Suspicion | null> {
  const { referrerId, suspicion, samePayer, hasBought } = parties
  if (suspicion !== null) return suspicion
  if (samePayer) return 'payment'
  if (!hasBought && !autoApprove) return 'unpaid'
  return (await findRewardWait(tx, referrerId)) === undefined ? null : 'limit'
}
