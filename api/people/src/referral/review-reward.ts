// Rewards, and their review by an operator: possible duplicate accounts, users who bought nothing, frequent referrers.
import { grantCredits } from '@matte/core/credit/lot-queries'
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import { MatteError } from '@matte/core/error'
import { lockWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import { publishPersonalEvent } from '../notification/publish-events.ts'

type Reward = {
  readonly id: string
  readonly credits: number
  readonly workspaceId: string
  readonly userId: string
}

/** Grants the credits of a referral and publishes the event, both idempotent by referral. */
export async function grantReward(tx: Db, { id, credits, workspaceId, userId }: Reward): Promise<void> {
  await grantCredits(tx, { workspaceId, kind: 'referral', amount: credits, source: `referral:${id}` })
  const description = 'The first task of a user you invited has succeeded.'
  const fields = { credits, description, message: `You earned ${credits} credit(s).` }
  await publishPersonalEvent(tx, userId, { event: 'referral.reward', fields, key: id })
}

/** Rewards per referrer in this window. */
const rewardsMax = 10
const windowDays = 30

/** Time of the next possible reward if the limit is reached. The caller has locked the referrer's workspace. */
export async function findRewardWait(tx: Db, referrerId: string): Promise<Date | undefined> {
  const row = await tx
    .selectFrom('referral')
    .select(sql<Date>`decided_at + ${windowDays} * interval '1 day'`.as('until'))
    .where('referrer_id', '=', referrerId)
    .where('status', '=', 'rewarded')
    .where('decided_at', '>', sql<Date>`now() - ${windowDays} * interval '1 day'`)
    .orderBy('decided_at', 'desc')
    .offset(rewardsMax - 1)
    .limit(1)
    .executeTakeFirst()
  return row?.until
}

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

/** Undefined if unknown. @throws MatteError CONFLICT: not under review, referrer erased, or ten rewards in 30 days */
export function decideReview(db: Db, id: string, decision: 'approve' | 'refuse') {
  return inTransaction(db, async (tx) => {
    const found = await tx
      .selectFrom('referral as r')
      .leftJoin('workspace as w', 'w.personal_of', 'r.referrer_id')
      .select(['r.referrer_id as userId', 'w.id as workspaceId'])
      .where('r.id', '=', id)
      .executeTakeFirst()
    if (found === undefined) return undefined
    const { userId, workspaceId } = found
    if (workspaceId !== null) await lockWorkspace(tx, workspaceId)
    else if (decision === 'approve') throw new MatteError('CONFLICT', 'The referrer’s account was deleted.')
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
    const credits = decided.credits ?? 0 // a CHECK constraint requires it
    if (status === 'rewarded' && workspaceId !== null) await grantReward(tx, { id, credits, workspaceId, userId })
    return { status, credits: status === 'rewarded' ? credits : 0 }
  })
}

async function refuseTooMany(tx: Db, referrerId: string): Promise<void> {
  const until = await findRewardWait(tx, referrerId)
  if (until === undefined) return
  const message = `The referrer had ten rewards in 30 days. Approve this one after ${until.toISOString()}.`
  throw new MatteError('CONFLICT', message)
}
