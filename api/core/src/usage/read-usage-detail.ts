// Usage by model and by member, from daily counters. Days before these counters existed are missing.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

type DayCounts = {
  readonly totalTasks: number
  readonly succeededTasks: number
  readonly failedTasks: number
  readonly canceledTasks: number
  readonly creditsConsumed: number
}

type Totals = DayCounts & {
  /** Mean milliseconds from creation to completion of succeeded tasks, rounded; 0 if there are none. */
  readonly averageLatencyMs: number
}

export type ModelUsage = Totals & { readonly modelVersion: string }

/** Totals of the month. `daily` has the days with tasks among the last 30, oldest first. */
type Group = Totals & { readonly daily: readonly (DayCounts & { readonly date: string })[] }

/** A person without a name and address has erased the account. Without `userId`: keys that no person created. */
type Member = { readonly userId: string | null; readonly name: string | null; readonly email: string | null }

export type UsageDetail = {
  readonly models: readonly (Group & { readonly modelVersion: string })[]
  readonly members: readonly (Group & Member)[]
}

/** Groups with `daily`; a chart shows fewer. */
const groupsWithDays = 20

const monthStart = sql`date_trunc('month', now() at time zone 'utc')::date`

/** Totals of the current month by model, most tasks first. */
export async function readModelUsage(db: Db, workspaceId: string): Promise<ModelUsage[]> {
  const { rows } = await sql<ModelUsage>`
    select model_version as "modelVersion", sum(created)::bigint as "totalTasks",
           sum(succeeded)::bigint as "succeededTasks", sum(failed)::bigint as "failedTasks",
           sum(canceled)::bigint as "canceledTasks", sum(credits)::bigint as "creditsConsumed",
           coalesce(round(sum(latency_ms) / nullif(sum(succeeded), 0)), 0)::bigint as "averageLatencyMs"
      from usage_detail where workspace_id = ${workspaceId} and day >= ${monthStart}
     group by model_version order by sum(created) desc, model_version`.execute(db)
  return rows
}

type Row = DayCounts & {
  readonly date: string
  readonly inMonth: boolean
  readonly inTrend: boolean
  readonly modelVersion: string
  readonly userId: string | null
  readonly name: string | null
  readonly email: string | null
  readonly latencyMs: number
}

/** Usage of a workspace by model and by member, most tasks first. Reads a row per day, model and member. */
export async function readUsageDetail(db: Db, workspaceId: string): Promise<UsageDetail> {
  const { rows } = await sql<Row>`
    select d.day as date, d.day >= ${monthStart} as "inMonth", d.day > today - 30 as "inTrend",
           d.model_version as "modelVersion", d.user_id as "userId", u.name, u.email, d.created as "totalTasks",
           d.succeeded as "succeededTasks", d.failed as "failedTasks", d.canceled as "canceledTasks",
           d.credits as "creditsConsumed", d.latency_ms as "latencyMs"
      from (select (now() at time zone 'utc')::date as today) t
      join usage_detail d on d.workspace_id = ${workspaceId} and d.day >= least(${monthStart}, today - 29)
      left join app_user u on u.id = d.user_id and u.erased_at is null
     order by d.day, d.model_version, d.user_id`.execute(db)
  return {
    models: groupRows(rows, ({ modelVersion }) => modelVersion).map(([{ modelVersion }, group]) => ({
      modelVersion,
      ...group,
    })),
    members: groupRows(rows, ({ userId }) => userId).map(([{ userId, name, email }, group]) => ({
      ...{ userId, name, email },
      ...group,
    })),
  }
}

function groupRows(rows: readonly Row[], keyOf: (row: Row) => string | null): [first: Row, Group][] {
  return [...Map.groupBy(rows, keyOf).values()]
    .map((own): [Row, readonly Row[]] => [own[0] as Row, own])
    .map(([first, own]) => ({ first, own, totals: totalsOf(own.filter(({ inMonth }) => inMonth)) }))
    .sort((a, b) => b.totals.totalTasks - a.totals.totalTasks)
    .map(({ first, own, totals }, place) => [
      first,
      { ...totals, daily: place < groupsWithDays ? daysOf(own.filter(({ inTrend }) => inTrend)) : [] },
    ])
}

const counters = ['totalTasks', 'succeededTasks', 'failedTasks', 'canceledTasks', 'creditsConsumed'] as const

const sumOf = (rows: readonly Row[]): DayCounts =>
  Object.fromEntries(counters.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)])) as DayCounts

function totalsOf(rows: readonly Row[]): Totals {
  const sums = sumOf(rows)
  const latencyMs = rows.reduce((sum, row) => sum + row.latencyMs, 0)
  return { ...sums, averageLatencyMs: Math.round(latencyMs / Math.max(1, sums.succeededTasks)) }
}

const daysOf = (rows: readonly Row[]): Group['daily'] =>
  [...Map.groupBy(rows, ({ date }) => date)].map(([date, own]) => ({ date, ...sumOf(own) }))
