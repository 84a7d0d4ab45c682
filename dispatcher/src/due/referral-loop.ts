import type { Db } from '@matte/core/db/database'
import type { Loop } from '@matte/core/runtime/loop'
import { joinReferred } from '@matte/people/referral/join-referred'
import { rewardReferrals } from '@matte/people/referral/reward-referrals'
import type { Logger } from 'pino'
import { dueParts } from './due-parts.ts'

type ReferralLoopDeps = {
  readonly db: Db
  /** 0 grants none. Referrals are still recorded, and rewarded once the setting is positive. */
  readonly rewardCredits: number
  readonly autoApprove: boolean
  readonly wake: () => void
  readonly logger: Logger
}

const everyMs = 5_000

export const referralLoop = ({ db, rewardCredits: credits, autoApprove, ...deps }: ReferralLoopDeps): Loop =>
  dueParts({
    name: 'referrals',
    everyMs,
    parts: {
      referrals_judged: (pass) => joinReferred(db, pass),
      rewards_due: (pass) => rewardReferrals(db, { credits, autoApprove }, pass),
    },
    ...deps,
  })
