// Attempts of an endpoint per hour, for 168 hours. Each is counted in the statement that records it, so reading costs
// the same at any number of attempts. The table is a ring: a new hour takes over the row of 168 hours before.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { bucketOf, emptyBuckets, latencyQuantile } from '../../latency.ts'

export const hoursShown = 168

/** Inclusive upper bounds of durations in seconds; the last is the longest total time of an attempt. */
const boundsSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60] as const

const hourOf = (time: RawBuilder<unknown>) => sql`date_trunc('hour', ${time}, 'UTC')`
const slotOf = (hour: RawBuilder<unknown>) =>
  sql`(extract(epoch from ${hour})::bigint / 3600 % ${hoursShown})::smallint`

type Counted = {
  /** Query of the endpoint's id; empty for a callback URL. */
  readonly endpoint: RawBuilder<unknown>
  readonly endedAt: RawBuilder<unknown>
  readonly succeeded: boolean
  readonly durationMs: number
}

/** An insert for use within a larger statement. An attempt recorded after its row was taken over is not counted. */
export function countAttempt({ endpoint, endedAt, succeeded, durationMs }: Counted): RawBuilder<unknown> {
  const hour = hourOf(endedAt)
  const bucket = bucketOf(durationMs / 1_000, boundsSeconds)
  const buckets = emptyBuckets(boundsSeconds).map((_, index) => (index === bucket ? 1 : 0))
  return sql`
    insert into webhook_endpoint_hour as h (endpoint_id, slot, hour, succeeded, failed, duration_buckets)
    select id, ${slotOf(hour)}, ${hour}, ${succeeded ? 1 : 0}::int, ${succeeded ? 0 : 1}::int, ${buckets}::int[]
      from (${endpoint}) endpoint
    on conflict (endpoint_id, slot) do update
       set hour = excluded.hour,
           succeeded = excluded.succeeded + case when h.hour = excluded.hour then h.succeeded else 0 end,
           failed = excluded.failed + case when h.hour = excluded.hour then h.failed else 0 end,
           duration_buckets = case when h.hour = excluded.hour then array(
             select a + b from unnest(h.duration_buckets, excluded.duration_buckets) with ordinality as u (a, b, n)
              order by n) else excluded.duration_buckets end
     where h.hour <= excluded.hour`
}

type HourRow = { readonly hour: Date; readonly succeeded: number; readonly failed: number; readonly buckets: number[] }

type AttemptStats = {
  readonly total: number
  readonly succeeded: number
  readonly failed: number
  /** 0 to 1; null without attempts. */
  readonly successRate: number | null
  /** Milliseconds, interpolated within a bucket; null without attempts. */
  readonly p50Ms: number | null
  readonly p95Ms: number | null
}

export type AttemptHours = AttemptStats & {
  /** Oldest first; the last is the current hour. */
  readonly hours: readonly (AttemptStats & { readonly hour: Date })[]
}

export async function readAttemptHours(db: Db, endpointId: string): Promise<AttemptHours> {
  const rows = await findHours(db, endpointId)
  return { ...toStats(rows), hours: rows.map((row) => ({ hour: row.hour, ...toStats([row]) })) }
}

async function findHours(db: Db, endpointId: string): Promise<HourRow[]> {
  const current = hourOf(sql`now()`)
  const { rows } = await sql<HourRow>`
    select shown.hour, coalesce(h.succeeded, 0) as succeeded, coalesce(h.failed, 0) as failed,
           coalesce(h.duration_buckets, '{}') as buckets
      from generate_series(${current} - (${hoursShown}::int - 1) * interval '1 hour', ${current},
                           interval '1 hour') as shown (hour)
      left join webhook_endpoint_hour h
        on h.endpoint_id = ${endpointId} and h.slot = ${slotOf(sql`shown.hour`)} and h.hour = shown.hour
     order by shown.hour`.execute(db)
  return rows
}

function toStats(rows: readonly HourRow[]): AttemptStats {
  const succeeded = rows.reduce((sum, row) => sum + row.succeeded, 0)
  const failed = rows.reduce((sum, row) => sum + row.failed, 0)
  const total = succeeded + failed
  const buckets = rows.reduce(
    (sum, row) => sum.map((count, index) => count + (row.buckets[index] ?? 0)),
    emptyBuckets(boundsSeconds),
  )
  return {
    ...{ total, succeeded, failed, successRate: total === 0 ? null : succeeded / total },
    ...{ p50Ms: quantileMs(buckets, 0.5), p95Ms: quantileMs(buckets, 0.95) },
  }
}

function quantileMs(buckets: readonly number[], quantile: number): number | null {
  const seconds = latencyQuantile(buckets, quantile, boundsSeconds)
  return seconds === undefined ? null : Math.round(seconds * 1_000)
}

export const deleteAttemptHours = (db: Db, endpointId: string) =>
  db.deleteFrom('webhook_endpoint_hour').where('endpoint_id', '=', endpointId).execute()
