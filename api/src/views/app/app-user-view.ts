import type { LoginEventRow } from '@matte/core/identity/login/list-login-events'
import type { Subscription } from '@matte/core/identity/personal/subscription'
import type { Plan } from '@matte/core/workspace/plan'
import type { Static } from 'typebox'
import type { loginEventSchema, ownSubscriptionSchema } from '../../schemas/app/user.ts'

export const toLoginEventView = (event: LoginEventRow): Static<typeof loginEventSchema> => ({
  id: event.id,
  at: event.at.toISOString(),
  success: event.success,
  method: event.method,
  ipAddress: event.ip_address,
  userAgent: event.user_agent,
  failureReason: event.failure_reason,
})

type Subscribed = {
  readonly workspaceId: string
  readonly plan: string
  readonly limits: Plan
  readonly subscription: Subscription | undefined
  readonly balance: { readonly available: number; readonly held: number; readonly total: number }
}

export function toOwnSubscriptionView(given: Subscribed): Static<typeof ownSubscriptionSchema> {
  const { limits, subscription, balance } = given
  const period = subscription?.period
  return {
    workspaceId: given.workspaceId,
    plan: given.plan,
    status: subscription?.status ?? 'none',
    period: period === undefined ? null : { start: period.start.toISOString(), end: period.end.toISOString() },
    limits: {
      requestsPerMinute: limits.requestsPerMinute,
      concurrentTasks: limits.concurrentTasks,
      monthlyQuota: limits.monthlyQuota,
      batchLimit: limits.batchLimit,
      maxFileSize: limits.maxFileSizeBytes,
      retentionDays: limits.retentionDays,
      apiAccess: limits.apiAccess,
    },
    credits: { available: balance.available, held: balance.held, total: balance.total, perPeriod: limits.credits },
  }
}
