// Recent work of pods, written by every controller replica once a second. It holds measurements
// only, so losing it loses no task.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { LatencyBuckets } from '../latency.ts'

export const windowSeconds = 5

/** Work of a revision's pods since the last write. */
export type InferenceWindow = {
  readonly pool: string
  readonly revision: string
  /** Requests by outcome; `unavailable`: the pod was gone. */
  readonly done: number
  readonly failed: number
  readonly timedOut: number
  readonly unavailable: number
  /** Slot seconds of `done` requests only, so a stalled pod does not look like slow work. */
  readonly busySeconds: number
  readonly latencyBuckets: LatencyBuckets
}

/** Adds to the replica's current window. Pools and revisions in `windows` are distinct. */
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
  // In key order, so overlapping writes cannot deadlock.
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

/** Bound per sweep; 100 pools on 3 replicas write 300 windows in 5 s. */
const sweptMax = 10_000

/** Deletes windows older than an hour, the longest window read; returns their number. */
export async function sweepInferenceWindows(db: Db): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from inference_window
     where ctid = any (array(select ctid from inference_window where at < now() - interval '1 hour'
                              order by at limit ${sweptMax}::int for update skip locked))`.execute(db)
  return Number(numAffectedRows)
}
