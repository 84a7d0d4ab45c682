// A reward falls due when a task of the one who joined has succeeded: once, in the transaction that says so. Whether
// one has is asked of the days' counters, which outlive the tasks; ever more seldom, the longer somebody has done
// nothing.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { grantReward } from '../reward.ts'

/** Looks after those who are due to be asked about; returns how many rewards fell due, those for review included. */
export async function rewardReferrals(db: Db, credits: number, pass: SweepPass = {}): Promise<number> {
  if (credits === 0) return 0
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
  return sumEach(rows, pass, ({ id }) => db.transaction().execute((tx) => settle(tx, id, credits)))
}

type Parties = { readonly referrerId: string; readonly workspaceId: string | null; readonly samePayer: boolean }

async function settle(tx: Db, id: string, credits: number): Promise<number> {
  const { rows } = await sql<Parties>`
    select r.referrer_id as "referrerId", own.id as "workspaceId",
           coalesce(own.payment_fingerprint = invited.payment_fingerprint, false) as "samePayer"
      from referral r
      left join workspace own on own.personal_of = r.referrer_id
      left join workspace invited on invited.personal_of = r.invited_id
     where r.id = ${id}`.execute(tx)
  const { referrerId = '', workspaceId = null, samePayer = false } = rows[0] ?? {}
  if (workspaceId !== null) await lockWorkspace(tx, workspaceId)
  const gone = workspaceId === null
  const settled = await tx
    .updateTable('referral')
    .set({
      status: gone ? 'refused' : sql`case when suspicion is not null or ${samePayer} then 'review' else 'rewarded' end`,
      suspicion: sql`coalesce(suspicion, case when ${samePayer} then 'payment' end)`,
      credits: gone ? null : credits,
      check_at: null,
      decided_at: gone ? sql<Date>`now()` : sql`case when suspicion is null and not ${samePayer} then now() end`,
    })
    .where('id', '=', id)
    .where('status', '=', 'joined')
    .returning('status')
    .executeTakeFirst()
  if (settled === undefined) return 0 // another replica's
  if (settled.status === 'rewarded' && workspaceId !== null) {
    await grantReward(tx, { id, credits, workspaceId, userId: referrerId })
  }
  return 1
}
