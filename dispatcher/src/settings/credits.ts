// Settings of what falls due of credits; a part of config.ts.
import { flag, int, json, type Schema } from '@matte/core/runtime/env'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { defaultPlans } from '@matte/core/workspace/plan'

export const creditSettings = {
  plans: json('PLANS', { default: defaultPlans, description: 'changes to the table of plans' }, parsePlans),
  referralRewardCredits: int('REFERRAL_REWARD_CREDITS', {
    default: 50,
    max: 1_000_000,
    description: 'credits for whoever has brought somebody whose first task has succeeded; 0 grants none',
  }),
  referralAutoApprove: flag('REFERRAL_AUTO_APPROVE', {
    default: false,
    description:
      'pays a referral reward at once when the invited person has bought nothing; otherwise it waits for matte-admin ' +
      'referral approve',
  }),
} as const satisfies Schema
