import { sql } from 'kysely'
import type { Plans } from '../workspace/plan.ts'
import { planRetentionSeconds } from '../workspace/retention.ts'

/**
 * Lateral subquery for workspace `w`: `plan_seconds`, its plan's limit; `seconds`, the retention in force; `chosen`,
 * whether workspace or installation chose it. No row: the plan is unknown.
 */
export function planSeconds(plans: Plans) {
  const each = Object.values(plans)
  return sql`
    select p.plan_seconds, coalesce(w.retention_seconds, p.default_seconds) is not null as chosen,
           least(p.plan_seconds, coalesce(w.retention_seconds, p.default_seconds)) as seconds
      from unnest(${Object.keys(plans)}::text[], ${each.map(planRetentionSeconds)}::float8[],
                  ${each.map((plan) => plan.defaultRetentionSeconds)}::float8[]) as p (plan, plan_seconds, default_seconds)
     where p.plan = w.plan`
}
