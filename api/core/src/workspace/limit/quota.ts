// Quota of a plan: accepted tasks per calendar month, UTC, counted in the workspace's row.
import { sql } from 'kysely'
import { type Details, MatteError } from '../../error.ts'
import type { Plan } from '../plan.ts'

const month = sql<string>`date_trunc('month', now() at time zone 'utc')::date`

/**
 * A transaction that began before midnight can find next month's counter, and must count there. Transactions are
 * younger than five minutes, so a month further ahead comes from a wrong clock and is reset to the current month.
 */
const isCurrent = sql<boolean>`(quota_month between ${month}
    and date_trunc('month', (now() + interval '5 minutes') at time zone 'utc')::date)`

/** Quota used in the current month. */
export const quotaUsed = sql<number>`case when ${isCurrent} then quota_used else 0 end`
export const countedMonth = sql<string>`case when ${isCurrent} then quota_month else ${month} end`

const nextMonth = sql`(date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc'`

/** End of the current month, and the seconds until then by the database clock. */
export type QuotaReset = { readonly resetsAt: Date; readonly resetsInSeconds: number }

export const quotaReset = [
  sql<Date>`${nextMonth}`.as('resetsAt'),
  sql<number>`extract(epoch from ${nextMonth} - now())::float8`.as('resetsInSeconds'),
] as const

export const quotaExceeded = (
  plan: Plan,
  { resetsAt, resetsInSeconds }: QuotaReset,
  details: Details = {},
): MatteError =>
  new MatteError('QUOTA_EXCEEDED', `Your plan allows ${plan.monthlyQuota} tasks a month.`, {
    details: { limit: plan.monthlyQuota, resetsAt: resetsAt.toISOString(), ...details },
    retryAfterSeconds: resetsInSeconds,
  })
