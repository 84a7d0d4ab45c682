// The quota of a plan: accepted tasks a calendar month, UTC (D40), counted in the workspace's row.
import { sql } from 'kysely'
import { type Details, MatteError } from '../../error.ts'
import type { Plan } from '../plan.ts'

const month = sql<string>`date_trunc('month', now() at time zone 'utc')::date`

/**
 * A transaction that began before midnight and waited for the row may find the next month begun in it; it counts there,
 * since going back would forget what the new month has used. No transaction is five minutes old, so a month further
 * ahead was written by a clock that has been set right since: it begins again as the current one.
 */
const isCurrent = sql<boolean>`(quota_month between ${month}
    and date_trunc('month', (now() + interval '5 minutes') at time zone 'utc')::date)`

/** What is used of the current month's quota. */
export const quotaUsed = sql<number>`case when ${isCurrent} then quota_used else 0 end`
export const countedMonth = sql<string>`case when ${isCurrent} then quota_month else ${month} end`

const nextMonth = sql`(date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc'`

/** When the current month ends, and how long that is by the database's clock. */
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
  new MatteError('QUOTA_EXCEEDED', `Your plan takes ${plan.monthlyQuota} tasks a month.`, {
    details: { limit: plan.monthlyQuota, resetsAt: resetsAt.toISOString(), ...details },
    retryAfterSeconds: resetsInSeconds,
  })
