import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Rewards of one person in so many days (D88). */
const rewardsMax = 10
const windowDays = 30

/**
 * When the referrer can get another reward, if that is later than now. The caller has locked the referrer's workspace,
 * so rewards at the same moment count each other.
 */
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
