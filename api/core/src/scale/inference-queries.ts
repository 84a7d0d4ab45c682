// What the pods did lately, written by every replica of the controller once a second and read with the demand. Only
// metrics depend on it: a lost second costs a little accuracy.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { LatencyBuckets } from './latency.ts'

/** Length of a window. Each second's write adds to the current one. */
export const windowSeconds = 5

/** What the pods of one revision did since the last write. */
export type InferenceWindow = {
  readonly pool: string
  readonly revision: string
  /** Requests by how their time in a slot ended; `unavailable`: the pod was gone. */
  readonly done: number
  readonly failed: number
  readonly timedOut: number
  readonly unavailable: number
  /** Seconds in slots of those that are `done`: a stalled pod must not look like slow work, which needs more pods. */
  readonly busySeconds: number
  /** Tasks that succeeded, by the seconds from creation to success (`bucketOf`). */
  readonly latencyBuckets: LatencyBuckets
}

/**
 * Adds to the current window of `replica`, in one statement. Each pool and revision may be in `windows` once. After an
 * error the caller may add the same counts to its next call: at worst, when only the answer was lost, they count twice.
 */
export async function recordInference(db: Db, replica: string, windows: readonly InferenceWindow[]): Promise<void> {
  if (windows.length === 0) return
  const rows = windows.map((window) => ({
    pool: window.pool,
    revision: window.revision,
    done: window.done,
    failed: window.failed,
    timed_out: window.timedOut,
    unavailable: window.unavailable,
    busy_seconds: window.busySeconds,
    ended: window.latencyBuckets.reduce((sum, count) => sum + count, 0),
    latency_buckets: window.latencyBuckets,
  }))
  // In the order of the key, so that two overlapping writes of one replica cannot deadlock.
  await sql`
    insert into inference_window as w (pool, at, revision, replica, done, failed, timed_out, unavailable, busy_seconds,
                                       ended, latency_buckets)
    select pool, date_bin(${windowSeconds}::int * interval '1 s', now(), timestamptz 'epoch'), revision,
           ${replica}::text, done, failed, timed_out, unavailable, busy_seconds, ended, latency_buckets
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as r (pool text, revision text, done int, failed int, timed_out int, unavailable int,
              busy_seconds double precision, ended int, latency_buckets int[])
     order by pool, revision
    on conflict (pool, at, revision, replica) do update set
      done = w.done + excluded.done, failed = w.failed + excluded.failed,
      timed_out = w.timed_out + excluded.timed_out, unavailable = w.unavailable + excluded.unavailable,
      busy_seconds = w.busy_seconds + excluded.busy_seconds, ended = w.ended + excluded.ended,
      latency_buckets = (select array_agg(b.before + b.added order by b.place)
                           from unnest(w.latency_buckets, excluded.latency_buckets)
                                with ordinality as b (before, added, place))`.execute(db)
}

/** Deleted by one sweep at most; 100 pools on 3 replicas make 300 windows in 5 s. */
const sweptMax = 10_000

/** Deletes windows older than an hour, the longest time that is read, and returns how many. */
export async function sweepInferenceWindows(db: Db): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from inference_window
     where ctid = any (array(select ctid from inference_window where at < now() - interval '1 hour'
                              order by at limit ${sweptMax}::int for update skip locked))`.execute(db)
  return Number(numAffectedRows)
}
