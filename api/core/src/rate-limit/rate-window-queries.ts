// A limit per fixed minute of the database's clock, counted in one row a subject. The row's lock makes the count
// exact over any number of replicas; at the border of two minutes a subject may use both minutes' limits at once,
// which is the price of an exact count in one statement.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Length of a window. */
export const windowSeconds = 60

type CountedRequests = {
  readonly subject: string
  /** Requests to count now, 1 or more. */
  readonly count: number
  readonly limit: number
}

export type RateWindow = {
  readonly subject: string
  /** Requests in this window with those of this call as its last; those above the limit are refused. */
  readonly used: number
  /** End of the window, Unix time in seconds. */
  readonly resetsAt: number
  /** Milliseconds from the answer until that end, by the database's clock. */
  readonly resetsInMs: number
}

/**
 * Counts requests of several subjects, each named once, in one statement without a transaction; the answer is in any
 * order. What was refused does not add up: the next call counts on from the limit. When a plan changes within a minute,
 * replicas may ask by two limits for some seconds; the greater one is counted on from, lest the smaller forget what the
 * greater has let through.
 * Requests that waited at the border for a row's lock are counted in the minute that the row is in by then. A row
 * further ahead was left by a clock that has been set back, and begins again. Rows are locked in the order of their
 * subjects, so that the calls of two replicas cannot wait for each other in a circle.
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

/**
 * Forgets subjects that asked for nothing in this minute and the one before; returns how many. It reads the whole
 * table, which holds a row for each subject of the last minutes only, and belongs into a loop, not into a request.
 */
export async function deleteOldWindows(db: Db): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from rate_window where minute < floor(extract(epoch from now()) / ${windowSeconds}::int)::int - 1`.execute(
    db,
  )
  return Number(numAffectedRows)
}
