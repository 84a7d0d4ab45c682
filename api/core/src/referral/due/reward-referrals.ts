// A reward falls due when a task of the one who joined has succeeded: once, in the transaction that says so. It is paid
// at once if that person has bought something; otherwise it waits for an operator, unless `autoApprove` is on. Whether
// one has is asked of the days' counters, which outlive the tasks; ever more seldom, the longer somebody has done
// nothing.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'
import type { ReferralTable } from '../../db/tables/referral.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { grantReward } from '../reward.ts'
import { findRewardWait } from '../reward-limit.ts'

type Suspicion = NonNullable<ReferralTable['suspicion']>

type RewardSettings = {
  /** 0: none are granted. */
  readonly credits: number
  /** Also pays at once when the invited person has bought nothing. */
  readonly autoApprove: boolean
}

/** Looks after those who are due to be asked about; returns how many rewards fell due, those for review included. */
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
  if (parties === undefined) return 0 // the referrer's account was erased meanwhile
  const { referrerId, workspaceId } = parties
  if (workspaceId !== null) await lockWorkspace(tx, workspaceId)
  const gone = workspaceId === null
  const suspicion = await judge(tx, parties, autoApprove)
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
  if (settled === undefined) return 0 // another replica's
  if (status === 'rewarded' && workspaceId !== null) {
    await grantReward(tx, { id, credits, workspaceId, userId: referrerId })
  }
  return 1
}

/** Both workspaces are personal ones. A purchase that was paid back in full is none. */
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

/** Why an operator decides about the reward. Null: it is paid at once. */
async function judge(tx: Db, parties: Parties, autoApprove: boolean): Promise<Suspicion | null> {
  const { referrerId, suspicion, samePayer, hasBought } = parties
  if (suspicion !== null) return suspicion
  if (samePayer) return 'payment'
  if (!hasBought && !autoApprove) return 'unpaid'
  return (await findRewardWait(tx, referrerId)) === undefined ? null : 'limit'
}
