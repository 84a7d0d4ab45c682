// Records of the operator's leader about a pool. One statement writes the report and everything else, and only if no
// later term of the same Lease has written. A former leader of a deleted Lease can still write one report.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Gate, PoolReport } from '../db/tables/operator.ts'

export type RolloutStep = {
  readonly revision: string
  readonly stable: string | null
  readonly event: string
  readonly step: number
  readonly weight: number
  readonly sentence: string
  readonly gates: readonly Gate[]
}

export type PoolRecord = {
  readonly namespace: string
  readonly pool: string
  readonly lease: string
  readonly term: number
  readonly report: PoolReport
  /** Stores the report's counts as a sample too. */
  readonly isSample: boolean
  /** Number of pods before the decision of the report; undefined stores no decision. */
  readonly decidedFrom: number | undefined
  readonly step: RolloutStep | undefined
}

const textMax = 2_000

/** `ageSeconds`: time since the pass. Returns false if a later leader has written. */
export async function recordPool(db: Db, record: PoolRecord, ageSeconds: number): Promise<boolean> {
  const { namespace, pool, lease, term, report, isSample, decidedFrom, step } = record
  const { rows } = await sql`
    with pass as (
      select ${namespace}::text as namespace, ${pool}::text as pool, now() - ${ageSeconds}::float8 * interval '1 s' as at,
             ${JSON.stringify(report)}::jsonb as report
    ), written as (
      insert into pool_report as r (namespace, pool, lease, term, at, report)
      select namespace, pool, ${lease}::text, ${term}::int, at, report from pass
      on conflict (namespace, pool) do update
         set lease = excluded.lease, term = excluded.term, at = excluded.at, report = excluded.report
       where r.lease <> excluded.lease or r.term <= excluded.term
      returning namespace, pool, at, report
    ), sampled as (
      insert into pool_sample (namespace, pool, at, wanted, ready, starting, draining, queue, processing,
                               oldest_seconds, p95_seconds, in_flight)
      select w.namespace, w.pool, w.at, v.wanted, v.ready, v.starting, v.draining, v.queue, v.processing,
             v."oldestSeconds", v."p95Seconds", v."inFlight"
        from written w
       cross join lateral jsonb_to_record(w.report) as v (
          wanted int, ready int, starting int, draining int, queue int, processing int, "oldestSeconds" float8,
          "p95Seconds" float8, "inFlight" int)
       where ${isSample}::boolean
    ), decided as (
      insert into scaling_decision (namespace, pool, at, from_replicas, to_replicas, rule, sentence, numbers)
      select namespace, pool, at, ${decidedFrom ?? 0}::int, (report->>'wanted')::int, coalesce(report->>'rule', ''),
             left(report->>'sentence', ${textMax}::int), report->'numbers'
        from written where ${decidedFrom !== undefined}::boolean
    ), stepped as (
      insert into rollout_step (namespace, pool, at, revision, stable, event, step, weight, sentence, gates)
      select namespace, pool, at, ${step?.revision ?? ''}::text, ${step?.stable ?? null}::text,
             ${step?.event ?? ''}::text, ${step?.step ?? 0}::int, ${step?.weight ?? 0}::int,
             left(${step?.sentence ?? ''}::text, ${textMax}::int), ${JSON.stringify(step?.gates ?? [])}::jsonb
        from written where ${step !== undefined}::boolean
    )
    select 1 from written`.execute(db)
  return rows.length > 0
}

type GonePool = Pick<PoolRecord, 'namespace' | 'pool' | 'lease' | 'term'>

/** Removes the report about a deleted pool. Its decisions, steps and samples stay until they expire. */
export async function forgetPool(db: Db, { namespace, pool, lease, term }: GonePool): Promise<void> {
  await sql`
    delete from pool_report
     where namespace = ${namespace} and pool = ${pool} and (lease <> ${lease} or term <= ${term}::int)`.execute(db)
}
