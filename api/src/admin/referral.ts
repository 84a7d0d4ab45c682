import { decideReview, listReviews } from '@matte/people/referral/review-reward'
import { type Command, CommandError } from './command.ts'
import { requiredUuid } from './options.ts'

const reviewsMax = 100

const reviews: Command = {
  name: 'referral reviews',
  usage: '',
  summary:
    'list rewards that wait for a decision and why: address or payment (both may be one person), unpaid (nothing ' +
    `bought) or limit (ten in 30 days); the oldest ${reviewsMax}`,
  run: async ({ db }) => {
    const rows = await listReviews(db, reviewsMax)
    return Object.fromEntries(
      rows.map((row) => [
        row.id,
        [row.suspicion, row.credits, row.referrer, row.invited, row.joined_at?.toISOString()],
      ]),
    )
  },
}

const decision = (decide: 'approve' | 'refuse', summary: string): Command => ({
  name: `referral ${decide}`,
  usage: '--referral ID',
  summary,
  changes: true,
  run: async ({ change }, given) => {
    const referralId = requiredUuid(given, 'referral')
    const decided = await change({ target: referralId }, async (tx) => {
      const made = await decideReview(tx, referralId, decide)
      if (made === undefined) throw new CommandError(`there is no referral ${referralId}`)
      return made
    })
    return { referralId, ...decided }
  },
})

export const referralCommands: readonly Command[] = [
  reviews,
  decision('approve', 'grant a reward that waits for a decision'),
  decision('refuse', 'refuse a reward that waits for a decision'),
]
