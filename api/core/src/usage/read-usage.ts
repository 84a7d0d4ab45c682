import { sql } from 'kysely'
import { readBalance } from '../credit/balance.ts'
import type { Db } from '../db/database.ts'
import { quotaUsed } from '../workspace/limit/quota.ts'
import type { Plan } from '../workspace/plan.ts'
import { type ModelUsage, readModelUsage } from './read-usage-detail.ts'

/** Counters of a day of the trend, or totals of the month. */
type UsageCounts = {
  readonly totalTasks: number
  readonly succeededTasks: number
  readonly failedTasks: number
  readonly creditsConsumed: number
  readonly apiRequests: number
  /** Mean milliseconds from creation to completion of succeeded tasks, rounded; 0 if there are none. */
  readonly averageLatencyMs: number
}

type UsageDay = UsageCounts & {
  /** `YYYY-MM-DD`, UTC. */
  readonly date: string
}

export type Usage = UsageCounts & {
  /** The current calendar month, UTC; `end` is the start of the next. */
  readonly period: { readonly start: Date; readonly end: Date }
  readonly canceledTasks: number
  /** failed ÷ (failed + succeeded), 0 to 1; 0 if there are none. */
  readonly errorRate: number
  readonly monthlyQuota: {
    /** Null: no limit. */
    readonly limit: number | null
    readonly used: number
    readonly remaining: number | null
    readonly resetsAt: Date
  }
  /** Null: the plan is not charged. */
  readonly credits: { readonly available: number; readonly held: number } | null
  /** Totals of the month by model, most tasks first. */
  readonly models: readonly ModelUsage[]
  /** The last 30 days, today included, oldest first. */
  readonly daily: readonly UsageDay[]
}

const trendDays = 30

type Row = UsageCounts & { date: string; inMonth: boolean; canceledTasks: number; latencyMs: number }
type Month = { start: Date; end: Date; quotaUsed: number }

/** Usage from the daily counters, at most 31 rows, and the balance. Throws if the workspace does not exist. */
export async function readUsage(db: Db, workspaceId: string, plan: Plan): Promise<Usage> {
  const month = await readMonth(db, workspaceId)
  if (month === undefined) throw new Error('the workspace of this usage does not exist')
  const { start, end, quotaUsed } = month
  const days = await readDays(db, workspaceId, start)
  const total = (pick: (row: Row) => number): number =>
    days.reduce((sum, row) => sum + (row.inMonth ? pick(row) : 0), 0)
  const succeededTasks = total((row) => row.succeededTasks)
  const failedTasks = total((row) => row.failedTasks)
  const limit = plan.monthlyQuota
  return {
    period: { start, end },
    totalTasks: total((row) => row.totalTasks),
    succeededTasks,
    failedTasks,
    canceledTasks: total((row) => row.canceledTasks),
    creditsConsumed: total((row) => row.creditsConsumed),
    apiRequests: total((row) => row.apiRequests),
    averageLatencyMs: average(
      total((row) => row.latencyMs),
      succeededTasks,
    ),
    errorRate: failedTasks === 0 ? 0 : failedTasks / (failedTasks + succeededTasks),
    monthlyQuota: {
      limit,
      used: quotaUsed,
      remaining: limit === null ? null : Math.max(0, limit - quotaUsed),
      resetsAt: end,
    },
    models: await readModelUsage(db, workspaceId),
    credits: plan.charged ? await readCredits(db, workspaceId) : null,
    daily: days.slice(-trendDays).map(({ inMonth, canceledTasks, latencyMs, ...day }) => ({
      ...day,
      averageLatencyMs: average(latencyMs, day.succeededTasks),
    })),
  }
}

async function readCredits(db: Db, workspaceId: string) {
  const { available, held } = await readBalance(db, workspaceId)
  return { available, held }
}

const average = (sum: number, count: number): number => (count === 0 ? 0 : Math.round(sum / count))

/** The quota column may belong to an earlier month; `quotaUsed` then yields 0. */
async function readMonth(db: Db, workspaceId: string): Promise<Month | undefined> {
  const { rows } = await sql<Month>`
    with month as (select date_trunc('month', now() at time zone 'utc') as start)
    select start at time zone 'utc' as start, (start + interval '1 month') at time zone 'utc' as end,
           ${quotaUsed} as "quotaUsed"
      from workspace, month where id = ${workspaceId}`.execute(db)
  return rows[0]
}

/** One row per day from the month's first day or 29 days ago, whichever is earlier, to today. */
async function readDays(db: Db, workspaceId: string, monthStart: Date): Promise<Row[]> {
  const { rows } = await sql<Row>`
    with month as (select (${monthStart}::timestamptz at time zone 'utc')::date as start,
                          (now() at time zone 'utc')::date as today)
    select series.day::date as date, series.day >= month.start as "inMonth",
           coalesce(created, 0) as "totalTasks", coalesce(succeeded, 0) as "succeededTasks",
           coalesce(failed, 0) as "failedTasks", coalesce(canceled, 0) as "canceledTasks",
           coalesce(credits, 0) as "creditsConsumed", coalesce(api_requests, 0) as "apiRequests",
           coalesce(latency_ms, 0) as "latencyMs"
      from month
     cross join generate_series(least(month.start, month.today - ${trendDays - 1}::int)::timestamp,
                                month.today::timestamp, interval '1 day') as series (day)
      left join usage_day u on u.workspace_id = ${workspaceId} and u.day = series.day::date
     order by series.day`.execute(db)
  return rows
}
