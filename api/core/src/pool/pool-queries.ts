// Reads of the operator's records about pools.
import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '../db/page.ts'
import type { PoolReport, RolloutStepTable, ScalingDecisionTable } from '../db/tables/operator.ts'

export type PoolName = { readonly namespace: string; readonly pool: string }

export type ReportedPool = PoolName & {
  readonly at: Date
  readonly ageSeconds: number
  readonly report: PoolReport
}

/** Above any installation's pools. */
const poolsMax = 1_000

export async function listReports(db: Db): Promise<ReportedPool[]> {
  const { rows } = await sql<ReportedPool>`
    select namespace, pool, at, greatest(0, extract(epoch from now() - at))::float8 as "ageSeconds", report
      from pool_report order by pool, namespace limit ${poolsMax}::int`.execute(db)
  return rows
}

export type PoolSample = {
  readonly at: Date
  readonly wanted: number
  readonly ready: number
  readonly starting: number
  readonly draining: number
  readonly queue: number | null
  readonly processing: number | null
  readonly inFlight: number | null
  readonly oldestSeconds: number | null
  readonly p95Seconds: number | null
}

export type SampleRange = { readonly minutes: number; readonly stepSeconds: number }

/** One point per step, oldest first: the lowest number of ready pods, and the highest of everything else. */
export async function listSamples(
  db: Db,
  { namespace, pool }: PoolName,
  { minutes, stepSeconds }: SampleRange,
): Promise<PoolSample[]> {
  const { rows } = await sql<PoolSample>`
    select date_bin(${stepSeconds}::int * interval '1 s', at, timestamptz 'epoch') as at,
           max(wanted) as wanted, min(ready) as ready, max(starting) as starting, max(draining) as draining,
           max(queue) as queue, max(processing) as processing, max(in_flight) as "inFlight",
           max(oldest_seconds) as "oldestSeconds", max(p95_seconds) as "p95Seconds"
      from pool_sample
     where namespace = ${namespace} and pool = ${pool} and at > now() - ${minutes}::int * interval '1 minute'
     group by 1 order by 1`.execute(db)
  return rows
}

export async function isKnownPool(db: Db, { namespace, pool }: PoolName): Promise<boolean> {
  const { rows } = await sql<{ known: boolean }>`
    select exists (select from pool_report where namespace = ${namespace} and pool = ${pool})
        or exists (select from pool_sample where namespace = ${namespace} and pool = ${pool})
        or exists (select from scaling_decision where namespace = ${namespace} and pool = ${pool}) as known`.execute(db)
  return rows[0]?.known ?? false
}

export type DecisionRow = Selectable<ScalingDecisionTable> & { readonly at_micros: string }

const decisionsOf = (db: Db, of: PoolName | undefined) =>
  db
    .selectFrom('scaling_decision')
    .$if(of !== undefined, (query) =>
      query.where('namespace', '=', of?.namespace ?? '').where('pool', '=', of?.pool ?? ''),
    )

/** One page, newest first; of all pools unless one is given. */
export function listDecisions(
  db: Db,
  of: PoolName | undefined,
  { limit, offset, after }: PageRequest,
): Promise<DecisionRow[]> {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return decisionsOf(db, of)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(at, id) < (${at}, ${after?.id}::uuid)`))
    .selectAll()
    .select(sql<string>`(extract(epoch from at) * 1000000)::bigint::text`.as('at_micros'))
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
    .execute()
}

export const countDecisions = (db: Db, of: PoolName | undefined): Promise<ListTotal> =>
  countRows(db, decisionsOf(db, of).select('id'))

export type RolloutStepRow = Selectable<RolloutStepTable>

/** Steps of about a hundred rollouts. */
const stepsMax = 1_000

/** The newest steps, oldest first. */
export async function listRolloutSteps(db: Db): Promise<RolloutStepRow[]> {
  const rows = await db
    .selectFrom('rollout_step')
    .selectAll()
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(stepsMax)
    .execute()
  return rows.reverse()
}
