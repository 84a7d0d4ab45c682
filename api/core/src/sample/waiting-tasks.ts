// Queue gauges, read every few seconds by each API replica in bounded time.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { defaultModelVersion } from '../model/model-queries.ts'
import type { Plans } from '../workspace/plan.ts'

/** Tasks counted per model and kind, and workspaces checked for children. */
const countMax = 10_000
const workspacesMax = 1_000
const modelsMax = 100

type WaitingTasks = {
  readonly modelVersion: string
  readonly waiting: number
  /** Age of the oldest claimable task; 0 without one. */
  readonly oldestSeconds: number
}

/**
 * A task blocked by its workspace's limit counts, but has no age: batches of small plans wait for hours by design.
 * Children are found by the oldest of each workspace, as claims do. Bounds are subqueries: see `readDueState`.
 */
export async function readWaitingTasks(db: Db, plans: Plans): Promise<WaitingTasks[]> {
  const names = Object.keys(plans)
  const limits = names.map((name) => plans[name]?.concurrentTasks ?? 0)
  const bound = sql`(select ${countMax}::int)`
  const { rows } = await sql<WaitingTasks>`
    with free as materialized (
      select w.id
        from workspace w join unnest(${names}::text[], ${limits}::int[]) as p (plan, concurrent) on p.plan = w.plan
       where w.waiting and w.processing < p.concurrent limit ${workspacesMax}
    ), lapsed as materialized (
      select model_version, count(*) as tasks, min(greatest(due_at, claimed_until)) as since
        from task
       where status = 'processing' and due_at <= now() and (claimed_until is null or claimed_until <= now())
       group by model_version
    ), asked as (
      select name from model union select ${defaultModelVersion} order by name limit ${modelsMax}
    )
    select a.name as "modelVersion",
           least(single.tasks + child.tasks + coalesce(lapsed.tasks, 0), ${bound})::int as waiting,
           greatest(0, coalesce(extract(epoch from now() - least(single.since, head.since, lapsed.since)), 0))::float8
             as "oldestSeconds"
      from asked a
     cross join lateral (
        select count(*) as tasks, min(q.queued_at) filter (where free.id is not null) as since
          from (select t.queued_at, t.workspace_id from task t
                 where t.status = 'queued' and (t.batch_id is null or t.run > 1) and t.model_version = a.name
                 order by t.queued_at limit ${bound}) q
          left join free on free.id = q.workspace_id) single
     cross join lateral (
        select count(*) as tasks
          from (select from task t
                 where t.status = 'queued' and t.batch_id is not null and t.run = 1 and t.model_version = a.name
                 limit ${bound}) q) child
     cross join lateral (
        select min(oldest.queued_at) as since
          from free cross join lateral (
            select t.queued_at from task t
             where t.workspace_id = free.id and t.status = 'queued' and (t.batch_id is not null)
               and t.model_version = a.name
             order by t.queued_at limit 1) oldest) head
      left join lapsed on lapsed.model_version = a.name`.execute(db)
  return rows
}
