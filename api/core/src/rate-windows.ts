// Rate limit per fixed minute of the database clock, one row per subject. The row lock makes counts exact over all
// replicas. Around a minute boundary a subject may use both minutes' limits.
import { sql } from 'kysely'
import type { Db } from './db/database.ts'

export const windowSeconds = 60

type CountedRequests = {
  readonly subject: string
  readonly count: number
  readonly limit: number
}

export type RateWindow = {
  readonly subject: string
  /** Requests in the window, including these; those above the limit are rejected. */
  readonly used: number
  readonly resetsAt: number
  readonly resetsInMs: number
}

/**
 * Counts units, such as requests, of distinct subjects in one statement; the result order is arbitrary. Rejected ones
 * do not accumulate: the next call continues from the limit. If replicas pass different limits after a plan change, the
 * greater one counts. Requests that wait for a row lock count in the row's current minute. A row more than a minute
 * ahead of the clock is reset. Rows are locked in subject order to avoid deadlocks.
 */
export async function countRequests(db: Db, requests: readonly CountedRequests[]): Promise<readonly RateWindow[]> {
  const subjects = requests.map(({ subject }) => subject)
  const counts = requests.map(({ count }) => count)
  const limits = requests.map(({ limit }) => limit)
  const isCurrent = sql`(w.minute = excluded.minute or w.minute = excluded.minute + 1)`
  const { rows } = await sql<RateWindow>`
    insert into rate_window as w (subject, minute, used, last_limit)
    select subject, floor(extract(epoch from now()) / ${windowSeconds}::int)::int, count, "limit"
      from unnest(${subjects}::text[], ${counts}::int[], ${limits}::int[]) as asked (subject, count, "limit")
     order by subject
    on conflict (subject) do update set
      minute = case when ${isCurrent} then w.minute else excluded.minute end,
      used = case when ${isCurrent}
                  then least(w.used, greatest(w.last_limit, excluded.last_limit)) else 0 end + excluded.used,
      last_limit = case when ${isCurrent} then greatest(w.last_limit, excluded.last_limit)
                        else excluded.last_limit end
    returning subject, used, (minute + 1) * ${windowSeconds}::bigint as "resetsAt",
              ((minute + 1) * ${windowSeconds}::bigint - extract(epoch from clock_timestamp()))::float8 * 1000
                as "resetsInMs"`.execute(db)
  return rows
}

/** Deletes subjects without recent requests. Scans the table, so call it from a loop. */
export async function deleteOldWindows(db: Db): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from rate_window where minute < floor(extract(epoch from now()) / ${windowSeconds}::int)::int - 1`.execute(
    db,
  )
  return Number(numAffectedRows)
}
