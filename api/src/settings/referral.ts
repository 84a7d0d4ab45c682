// Settings of referrals; a part of config.ts.
import { int, type Schema } from '@matte/core/runtime/env'

export const referralSettings = {
  referralRewardCredits: int('REFERRAL_REWARD_CREDITS', {
    default: 50,
    max: 1_000_000,
    description: 'credits for whoever has brought somebody whose first task has succeeded; 0 grants none',
  }),
} as const satisfies Schema
