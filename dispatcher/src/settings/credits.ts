// Settings of credits and referrals; a part of config.ts.
import { flag, int, json, type Schema } from '@matte/core/runtime/env'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { defaultPlans } from '@matte/core/workspace/plan'

export const creditSettings = {
  plans: json('PLANS', { default: defaultPlans, description: 'overrides of the default plans' }, parsePlans),
  referralRewardCredits: int('REFERRAL_REWARD_CREDITS', {
    default: 50,
    max: 1_000_000,
    description: 'credits for the referrer when the first task of an invited person succeeds; 0 grants none',
  }),
  referralAutoApprove: flag('REFERRAL_AUTO_APPROVE', {
    default: false,
    description:
      'pays a referral reward at once even if the invited person has bought nothing; by default such a reward waits ' +
      'for matte-admin referral approve',
  }),
} as const satisfies Schema
