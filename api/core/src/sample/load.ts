// Load of the installation in bounded reads, for the operators' console.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Ended tasks read, newest first; a higher rate is reported as a minimum. */
const endedMax = 10_000
export const throughputSeconds = 300

export type Throughput = {
  readonly inFlight: number
  readonly succeeded: number
  readonly failed: number
  readonly failedAttempts: number
  /** More tasks ended than were read. */
  readonly isMinimum: boolean
}

/** Tasks in flight, and what ended within `throughputSeconds`. Tasks that waited for more than an hour do not count. */
export async function readThroughput(db: Db): Promise<Throughput> {
  const window = sql`now() - ${throughputSeconds}::int * interval '1 s'`
  const { rows } = await sql<Throughput>`
    with ended as (
      select status, completed_at from task
       where completed_at is not null and queued_at > now() - interval '1 hour'
       order by queued_at desc limit (select ${endedMax}::int)
    )
    select (select count(*) from (select from task where status = 'processing' and claimed_until > now()
                                   limit (select ${endedMax}::int)) p)::int as "inFlight",
           (count(*) filter (where status = 'succeeded' and completed_at > ${window}))::int as succeeded,
           (count(*) filter (where status = 'failed' and completed_at > ${window}))::int as failed,
           coalesce((select sum(failed + timed_out) from inference_window where at > ${window}), 0)::int
             as "failedAttempts",
           count(*) >= ${endedMax}::int as "isMinimum"
      from ended`.execute(db)
  const none = { inFlight: 0, succeeded: 0, failed: 0, failedAttempts: 0, isMinimum: false }
  return rows[0] ?? none
}

export type BusyWorkspace = {
  readonly id: string
  readonly name: string
  readonly kind: 'personal' | 'team'
  readonly plan: string
  readonly queued: number
  readonly processing: number
  readonly tasksLastHour: number
  readonly failedLastHour: number
}

/** Waiting workspaces that are looked at. */
const workspacesMax = 1_000

/** Workspaces with most open tasks, then with most tasks that ended in the last hour, among the newest 10,000. */
export async function listBusyWorkspaces(db: Db, limit: number): Promise<BusyWorkspace[]> {
  const { rows } = await sql<BusyWorkspace>`
    with ended as materialized (
      select workspace_id as id, count(*) as tasks, count(*) filter (where status = 'failed') as failed
        from (select workspace_id, status from task
               where completed_at is not null and queued_at > now() - interval '1 hour'
               order by queued_at desc limit (select ${endedMax}::int)) t
       group by workspace_id
    ), busy as (
      (select id from workspace where waiting order by id limit (select ${workspacesMax}::int))
      union
      select workspace_id from (select workspace_id from task where status = 'processing'
                                 limit (select ${endedMax}::int)) p
      union
      select id from ended
    )
    select w.id, w.name, w.kind, w.plan, w.queued, w.processing, coalesce(e.tasks, 0)::int as "tasksLastHour",
           coalesce(e.failed, 0)::int as "failedLastHour"
      from busy join workspace w using (id) left join ended e using (id)
     order by w.queued + w.processing desc, coalesce(e.tasks, 0) desc, w.id
     limit ${limit}::int`.execute(db)
  return rows
}

export type FailingEndpoint = {
  readonly id: string
  readonly workspaceId: string
  readonly workspaceName: string
  /** Host and port; the URL may contain a secret. */
  readonly targetHost: string
  readonly failingSince: Date
  readonly failedAt: Date | null
  readonly waitingDeliveries: number
  readonly droppedDeliveries: number
}

const waitingMax = 1_000

/** Enabled endpoints whose deliveries fail, oldest failure first. */
export async function listFailingEndpoints(db: Db, limit: number): Promise<FailingEndpoint[]> {
  const { rows } = await sql<FailingEndpoint>`
    select e.id, e.workspace_id as "workspaceId", w.name as "workspaceName", e.target_host as "targetHost",
           e.failing_since as "failingSince", e.failed_at as "failedAt",
           (select count(*) from (select from delivery d where d.endpoint_id = e.id and d.status = 'pending'
                                   limit (select ${waitingMax}::int)) p)::int as "waitingDeliveries",
           e.dropped_deliveries::int as "droppedDeliveries"
      from (select * from webhook_endpoint
             where failing_since is not null and status = 'enabled' and deleted_at is null
             order by failing_since limit ${limit}::int) e
      join workspace w on w.id = e.workspace_id
     order by e.failing_since`.execute(db)
  return rows
}

/** Age in seconds of the oldest lapsed claim; 0 without one. A worker takes such a task within seconds. */
export async function readLapsedClaimSeconds(db: Db): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select coalesce(extract(epoch from now() - min(greatest(due_at, claimed_until))), 0)::float8 as seconds
      from (select due_at, claimed_until from task
             where status = 'processing' and due_at <= now() and claimed_until <= now()
             order by due_at limit (select ${endedMax}::int)) t`.execute(db)
  return rows[0]?.seconds ?? 0
}
