// Invariants of every database: counters equal what they count, money balances, and nothing happened twice that may
// happen once. Checked at the end of tests with concurrency or crashes.
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'

/** Each query selects rows that break the rule of its name. */
const rules = {
  'a workspace counts its open tasks rightly': sql`
    select w.id from workspace w left join task t on t.workspace_id = w.id
     group by w.id
    having w.queued <> count(*) filter (where t.status = 'queued')
        or w.processing <> count(*) filter (where t.status = 'processing')
        or w.open_singles <> count(*) filter (where t.status in ('queued', 'processing')
                                                and (t.batch_id is null or t.run > 1))
        or w.open_children <> count(*) filter (where t.status in ('queued', 'processing')
                                                 and t.batch_id is not null and t.run = 1)`,
  // Retention deletes the children of a batch one by one, and the batch with the last one.
  'a batch counts its children rightly': sql`
    select b.id from batch b left join task t on t.batch_id = b.id
     group by b.id
    having count(t.id) > b.total_count or count(t.id) = b.total_count
       and (b.succeeded_count, b.failed_count, b.canceled_count) is distinct from (
         count(*) filter (where t.status = 'succeeded'), count(*) filter (where t.status = 'failed'),
         count(*) filter (where t.status = 'canceled'))`,
  'a batch is completed with its last child, and stays so when one is retried': sql`
    select b.id from batch b left join task t on t.batch_id = b.id and t.status in ('queued', 'processing')
     group by b.id
    having (b.status = 'processing') <> (count(t.id) > 0)
       and not (b.status = 'completed' and count(*) filter (where t.run = 1) = 0)`,
  'a batch with a callback has one batch.completed once it is completed': sql`
    select b.id from batch b left join delivery d on d.batch_id = b.id and d.event = 'batch.completed'
     group by b.id
    having count(d.id) <> (b.status = 'completed' and b.callback_url is not null)::int`,
  'a retried task reports no earlier failure any more': sql`
    select t.id from task t join delivery d on d.task_id = t.id
     where d.event = 'task.failed' and d.run < t.run and d.status in ('pending', 'paused')`,
  'the usage of a workspace counts its tasks rightly': sql`
    select w.id from workspace w
      left join lateral (
        select coalesce(sum(created), 0) as created, coalesce(sum(succeeded), 0) as succeeded,
               coalesce(sum(failed), 0) as failed, coalesce(sum(canceled), 0) as canceled
          from usage_day where workspace_id = w.id) u on true
      left join lateral (
        select count(distinct t.id) as created, count(*) filter (where e.type = 'succeeded') as succeeded,
               count(*) filter (where e.type = 'failed') as failed,
               count(*) filter (where e.type = 'canceled') as canceled
          from task t join task_event e on e.task_id = t.id where t.workspace_id = w.id) c on true
     where (u.created, u.succeeded, u.failed, u.canceled) is distinct from (c.created, c.succeeded, c.failed, c.canceled)`,
  'usage by model and member adds up to the usage of the day': sql`
    select workspace_id, day from (
      select workspace_id, day, created, succeeded, failed, canceled, credits, latency_ms from usage_day
       where created + succeeded + failed + canceled > 0
      union all
      select workspace_id, day, -created, -succeeded, -failed, -canceled, -credits, -latency_ms from usage_detail) u
     group by workspace_id, day
    having (sum(created), sum(succeeded), sum(failed), sum(canceled), sum(credits), sum(latency_ms)) <> (0, 0, 0, 0, 0, 0)`,
  'an ended run has one terminal event, and an open run none': sql`
    select t.id from task t left join task_event e
        on e.task_id = t.id and e.run = t.run and e.type in ('succeeded', 'failed', 'canceled')
     group by t.id
    having count(e.id) <> (t.status in ('succeeded', 'failed', 'canceled'))::int
        or count(e.id) filter (where e.type <> t.status) > 0`,
  'a run with a callback has one delivery once it succeeded or failed': sql`
    select t.id from task t left join delivery d on d.task_id = t.id and d.run = t.run
     where t.callback_url is not null
     group by t.id having count(d.id) <> (t.status in ('succeeded', 'failed'))::int`,
  'a lot is the sum of its entries': sql`
    select l.id from credit_lot l left join credit_entry e on e.lot_id = l.id
     group by l.id
    having (l.available, l.held, l.spent) is distinct from (
      coalesce(sum(e.amount) filter (where e.to_account = 'available'), 0)
        - coalesce(sum(e.amount) filter (where e.from_account = 'available'), 0),
      coalesce(sum(e.amount) filter (where e.to_account = 'held'), 0)
        - coalesce(sum(e.amount) filter (where e.from_account = 'held'), 0),
      coalesce(sum(e.amount) filter (where e.to_account = 'spent'), 0))`,
  'a hold is open while its run is, captured after a charged success, released after anything else': sql`
    select t.id from task t join credit_hold h on h.task_id = t.id and h.run = t.run
     where h.state <> case when t.status = 'succeeded' and t.charge is distinct from 'none' then 'captured'
                           when t.completed_at is not null then 'released' else 'open' end`,
}

/** Broken rules of this database with the ids of the rows; empty if all hold. */
export async function findBrokenRules(db: Db): Promise<Record<string, string[]>> {
  const broken: Record<string, string[]> = {}
  for (const [rule, query] of Object.entries(rules)) {
    const { rows } = await query.execute(db)
    if (rows.length > 0) broken[rule] = (rows as { id: string }[]).map((row) => row.id)
  }
  return broken
}
