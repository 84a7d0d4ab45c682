import { grantCredits } from '../credit/lot-queries.ts'
import type { Db } from '../db/database.ts'
import { publishPersonalEvent } from '../notification/personal-event.ts'

type Reward = {
  /** Of the referral. */
  readonly id: string
  readonly credits: number
  /** The personal workspace of whom it is for. */
  readonly workspaceId: string
  readonly userId: string
}

/** The credits of a reward and its event, both once a referral. */
export async function grantReward(tx: Db, { id, credits, workspaceId, userId }: Reward): Promise<void> {
  await grantCredits(tx, { workspaceId, kind: 'referral', amount: credits, source: `referral:${id}` })
  const description = 'The first task of somebody whom you have invited has succeeded.'
  const fields = { credits, description, message: `You have got ${credits} credit(s) for it.` }
  await publishPersonalEvent(tx, userId, { event: 'referral.reward', fields, key: id })
}
