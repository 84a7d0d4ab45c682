import type { Db } from '@matte/core/db/database'
import { joinReferred } from '@matte/core/referral/due/join-referred'
import { rewardReferrals } from '@matte/core/referral/due/reward-referrals'
import type { Loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'
import { dueParts } from './due-parts.ts'

type ReferralLoopDeps = {
  readonly db: Db
  /** 0: none are granted; who joins meanwhile is noted, and rewarded once there are some. */
  readonly rewardCredits: number
  readonly autoApprove: boolean
  readonly wake: () => void
  readonly logger: Logger
}

/** Nobody waits for it at a screen. */
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
