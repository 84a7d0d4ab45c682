import type { Usage } from '@matte/core/usage/read-usage'

export function toUsageView({ period, monthlyQuota, ...usage }: Usage) {
  return {
    ...usage,
    period: { start: period.start.toISOString(), end: period.end.toISOString() },
    monthlyQuota: { ...monthlyQuota, resetsAt: monthlyQuota.resetsAt.toISOString() },
  }
}
