// Rewards that wait for an operator: the two may be one person, the invited person has bought nothing, or the referrer
// had enough rewards lately.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { grantReward } from './reward.ts'
import { findRewardWait } from './reward-limit.ts'

/** Rewards under review, the oldest first. */
export function listReviews(db: Db, limit: number) {
  return db
    .selectFrom('referral as r')
    .innerJoin('app_user as a', 'a.id', 'r.referrer_id')
    .innerJoin('app_user as b', 'b.id', 'r.invited_id')
    .select(['r.id', 'r.suspicion', 'r.credits', 'r.joined_at', 'a.email as referrer', 'b.email as invited'])
    .where('r.status', '=', 'review')
    .orderBy('r.created_at')
    .limit(limit)
    .execute()
}

/**
 * Grants a reward under review, or refuses it. Undefined: no such referral.
 * @throws MatteError CONFLICT when it is not under review, or the referrer had ten rewards in 30 days
 */
export function decideReview(db: Db, id: string, decision: 'approve' | 'refuse') {
  return db.transaction().execute(async (tx) => {
    const found = await tx
      .selectFrom('referral as r')
      .leftJoin('workspace as w', 'w.personal_of', 'r.referrer_id')
      .select(['r.referrer_id as userId', 'w.id as workspaceId'])
      .where('r.id', '=', id)
      .executeTakeFirst()
    if (found === undefined) return undefined
    const { userId, workspaceId } = found
    if (workspaceId !== null) await lockWorkspace(tx, workspaceId)
    else if (decision === 'approve') throw new MatteError('CONFLICT', 'Whom the reward is for is gone.')
    if (decision === 'approve') await refuseTooMany(tx, userId)
    const status = decision === 'approve' ? 'rewarded' : 'refused'
    const decided = await tx
      .updateTable('referral')
      .set({ status, decided_at: sql<Date>`now()` })
      .where('id', '=', id)
      .where('status', '=', 'review')
      .returning('credits')
      .executeTakeFirst()
    if (decided === undefined) throw new MatteError('CONFLICT', 'This referral is not under review.')
    const credits = decided.credits ?? 0 // there is one, by a CHECK
    if (status === 'rewarded' && workspaceId !== null) await grantReward(tx, { id, credits, workspaceId, userId })
    return { status, credits: status === 'rewarded' ? credits : 0 }
  })
}

async function refuseTooMany(tx: Db, referrerId: string): Promise<void> {
  const until = await findRewardWait(tx, referrerId)
  if (until === undefined) return
  const message = `This referrer had ten rewards in 30 days. Approve the reward after ${until.toISOString()}.`
  throw new MatteError('CONFLICT', message)
}
