import { parseMasterKeys } from '@matte/core/runtime/seal'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { planNamed } from '@matte/core/workspace/plan'

/** Charged, so every statement of a paid plan runs; unlimited, so the load meets no limit. */
export const plans = parsePlans({
  bench: { concurrentTasks: 1_000_000_000, monthlyQuota: 1_000_000_000, requestsPerMinute: 1_000_000_000 },
})
export const benchPlan = planNamed(plans, 'bench')
export const masterKeys = parseMasterKeys(`bench:${Buffer.alloc(32, 1).toString('base64')}`)
