// Demand on the pools, read once a second by the operator's leader. Reads open tasks, arrivals of the last 30 s and
// recent pod work, never the whole history.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { type LatencyBuckets, latencyBoundsSeconds, latencyQuantile } from '../latency.ts'
import { maxAttempts } from '../task/limits.ts'
import type { Plans } from '../workspace/plan.ts'
import type { Demand } from './demand.ts'

export type AskedPool = {
  readonly pool: string
  /** As in tasks, so including `service-v2` for the default pool. */
  readonly modelVersions: readonly string[]
  /** Window of `perRevision` in seconds: a rollout's step, default 60, at most 3,600. */
  readonly revisionSeconds?: number
}

type DemandRequest = { readonly plans: Plans; readonly pools: readonly AskedPool[] }

/** Demand on a pool. The database does not know the pool's target, so it has latencies instead of `missedShare`. */
export type PoolDemand = Omit<Demand, 'missedShare'> & {
  /** From creation to success over the last 60 s, for `shareSlowerThan`. */
  readonly latencyBuckets: LatencyBuckets
  readonly perRevision: readonly RevisionCounts[]
}

/** Work of a revision's pods within `revisionSeconds`; idle revisions are omitted. */
type RevisionCounts = {
  readonly revision: string
  readonly done: number
  readonly failed: number
  readonly timedOut: number
  readonly unavailable: number
  readonly serviceSeconds: number | undefined
  readonly p95Seconds: number | undefined
}

/** Single tasks counted per model, and workspaces visited for children; no pool has as many slots. */
const singlesMax = 10_000
const workspacesMax = 2_000
/** Windows for the service time of a pool idle for a minute: ten minutes of one replica. */
const windowsMax = 120

const bucketNumbers = Array.from({ length: latencyBoundsSeconds.length + 1 }, (_none, index) => index + 1)
// The driver returns bigint lists as text; float8 is exact up to 2^53.
const summedBuckets = sql`array[${sql.join(bucketNumbers.map((bucket) => sql`coalesce(sum(w.latency_buckets[${sql.lit(bucket)}]), 0)::float8`))}]`

/** A retry counts as a single task, even of a child (`slotCounter`). Matches the index expressions. */
const isSingle = sql`(t.batch_id is null or t.run > 1)`
const isChild = sql`t.batch_id is not null and t.run = 1`

/**
 * Reads every requested pool in one statement. Ignores tasks of unknown versions; a version in several pools counts in
 * each. While dispatch is paused no task waits or arrives; claimed tasks still count.
 * A workspace's free slots, its limit minus its processing tasks, bound its demand (D39). Each pool may use all of
 * them, so a broken pool cannot hide tasks of others. Single tasks come first, as in claims. A task between attempts
 * already has its slot.
 * `hop` walks workspaces by index entry, so tasks beyond the free slots are not read.
 */
export async function readDemand(db: Db, { plans, pools }: DemandRequest): Promise<Map<string, PoolDemand>> {
  if (pools.length === 0) return new Map()
  const planNames = Object.keys(plans)
  const limits = planNames.map((name) => plans[name]?.concurrentTasks ?? 0)
  const served = pools.flatMap(({ pool, modelVersions }) => modelVersions.map((version) => ({ pool, version })))
  const { rows } = await sql<Row>`
    with recursive asked as (
      select * from unnest(${pools.map(({ pool }) => pool)}::text[],
                           ${pools.map(({ revisionSeconds = 60 }) => revisionSeconds)}::float8[])
        as a (pool, revision_seconds)
    ), served as (
      select * from unnest(${served.map(({ pool }) => pool)}::text[], ${served.map(({ version }) => version)}::text[])
        as s (pool, model_version)
    ), plan as (
      select * from unnest(${planNames}::text[], ${limits}::int[]) as p (name, concurrent)
    ), running as materialized (
      select 1 as yes where not exists (select from setting where name = 'dispatchPaused' and value = 'true')
    ), arrived as (
      select s.pool, sum(c.in_3s) as in_3s, sum(c.in_30s) as in_30s
        from (select r.model_version, count(*) filter (where r.queued_at > now() - interval '3 s') as in_3s,
                     count(*) as in_30s
                from (select t.model_version, t.queued_at from task t
                       where t.status in ('queued', 'processing') and t.queued_at > now() - interval '30 s'
                         and ${isSingle}
                      union all
                      select t.model_version, t.queued_at from task t
                       where t.completed_at is not null and t.queued_at > now() - interval '30 s' and ${isSingle}) r
               where exists (select from running)
               group by r.model_version) c
        join served s using (model_version)
       group by s.pool
    ), single as (
      select s.pool, t.workspace_id, count(*) as tasks, min(t.queued_at) as oldest
        from served s
       cross join lateral (
          select t.workspace_id, t.queued_at from task t
           where t.status = 'queued' and ${isSingle} and t.model_version = s.model_version
           order by t.queued_at limit ${singlesMax}::int) t
       where exists (select from running)
       group by s.pool, t.workspace_id
    ), hop as (
      select s.pool, s.model_version, n.workspace_id, 1 as visited
        from served s
       cross join lateral (
          select t.workspace_id from task t
           where t.status = 'queued' and ${isChild} and t.model_version = s.model_version
           order by t.workspace_id limit 1) n
       where exists (select from running)
      union all
      select h.pool, h.model_version, n.workspace_id, h.visited + 1
        from hop h
       cross join lateral (
          select t.workspace_id from task t
           where t.status = 'queued' and ${isChild} and t.model_version = h.model_version
             and t.workspace_id > h.workspace_id
           order by t.workspace_id limit 1) n
       where h.visited < ${workspacesMax}::int
    ), free as materialized (
      select w.id, greatest(0, p.concurrent - w.processing) as slots
        from workspace w join plan p on p.name = w.plan
       where w.waiting
    ), child as (
      select h.pool, h.workspace_id, sum(q.tasks) as tasks
        from hop h
        join free f on f.id = h.workspace_id
       cross join lateral (
          select count(*) as tasks
            from (select from task t
                   where t.status = 'queued' and ${isChild} and t.model_version = h.model_version
                     and t.workspace_id = h.workspace_id
                   limit f.slots) first) q
       group by h.pool, h.workspace_id
    ), in_queue as (
      select pool, sum(n.singles) as singles, min(s.oldest) filter (where f.slots > 0) as oldest,
             sum(least(coalesce(c.tasks, 0), f.slots - n.singles)) as children
        from single s
        full join child c using (pool, workspace_id)
        join free f on f.id = workspace_id
       cross join lateral (select least(f.slots, coalesce(s.tasks, 0)) as singles) n
       group by pool
    ), begun as (
      select s.pool, count(*) filter (where t.claimed_until > now()) as claimed,
             count(*) filter (where t.claimed_until > now() and d.child) as claimed_children,
             count(*) filter (where d.due and not d.child) as singles,
             count(*) filter (where d.due and d.child) as children,
             min(t.queued_at) filter (where d.due and not d.child) as oldest
        from task t
        join served s using (model_version)
       cross join lateral (
          select not ${isSingle} as child,
                 exists (select from running) and t.due_at <= now() and t.attempt < ${maxAttempts}
                   and (t.claimed_until is null or t.claimed_until <= now()) as due) d
       where t.status = 'processing'
       group by s.pool
    ), recent as (
      select a.pool, sum(w.busy_seconds) / nullif(sum(w.done), 0) as service, ${summedBuckets} as buckets
        from asked a join inference_window w on w.pool = a.pool
       where w.at > now() - interval '60 s' and w.at <= now()
       group by a.pool
    ), revision as (
      select a.pool, w.revision, sum(w.done) as done, sum(w.failed) as failed, sum(w.timed_out) as timed_out,
             sum(w.unavailable) as unavailable, sum(w.busy_seconds) / nullif(sum(w.done), 0) as service,
             ${summedBuckets} as buckets
        from asked a join inference_window w on w.pool = a.pool
       where w.at > now() - least(a.revision_seconds, 3600) * interval '1 s' and w.at <= now()
       group by a.pool, w.revision
    )
    select a.pool, coalesce(n.in_3s, 0)::bigint as "arrivals3s", coalesce(n.in_30s, 0)::bigint as "arrivals30s",
           (coalesce(q.singles, 0) + coalesce(b.singles, 0))::bigint as backlog,
           (coalesce(q.children, 0) + coalesce(b.children, 0))::bigint as "batchSlots",
           coalesce(b.claimed, 0) as processing, coalesce(b.claimed_children, 0) as "batchProcessing",
           -- A task that was created while this statement began has a later now().
           greatest(0, coalesce(extract(epoch from now() - least(q.oldest, b.oldest)), 0))::float8 as "oldestSeconds",
           coalesce(r.service, (
             select sum(busy_seconds) / sum(done)
               from (select w.busy_seconds, w.done from inference_window w
                      where w.pool = a.pool and w.done > 0 and w.at > now() - interval '1 hour' and w.at <= now()
                      order by w.at desc limit ${windowsMax}::int) latest)) as service,
           r.buckets,
           (select jsonb_agg(jsonb_build_object(
                     'revision', v.revision, 'done', v.done, 'failed', v.failed, 'timedOut', v.timed_out,
                     'unavailable', v.unavailable, 'service', v.service, 'buckets', v.buckets) order by v.revision)
              from revision v where v.pool = a.pool) as revisions
      from asked a
      left join arrived n using (pool)
      left join in_queue q using (pool)
      left join begun b using (pool)
      left join recent r using (pool)`.execute(db)
  return new Map(rows.map((row) => [row.pool, toDemand(row)]))
}

type Measurements = { readonly service: number | null; readonly buckets: LatencyBuckets }

type Row = Omit<PoolDemand, 'serviceSeconds' | 'p95Seconds' | 'latencyBuckets' | 'perRevision'> & {
  readonly pool: string
  readonly service: number | null
  readonly buckets: LatencyBuckets | null
  readonly revisions: readonly (Omit<RevisionCounts, 'serviceSeconds' | 'p95Seconds'> & Measurements)[] | null
}

function toDemand({ pool: _key, service, buckets, revisions, ...counts }: Row): PoolDemand {
  const latencyBuckets = buckets ?? bucketNumbers.map(() => 0)
  return {
    ...counts,
    ...toTimes({ service, buckets: latencyBuckets }),
    latencyBuckets,
    perRevision: (revisions ?? []).map(({ service, buckets, ...counts }) => ({
      ...counts,
      ...toTimes({ service, buckets }),
    })),
  }
}

const toTimes = ({ service, buckets }: Measurements) => ({
  serviceSeconds: service ?? undefined,
  p95Seconds: latencyQuantile(buckets, 0.95),
})
