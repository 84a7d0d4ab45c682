// Invariants that a bounded statement can check in a running service, for an alert. Each statement reads the
// latest rows of an index in one consistent snapshot. They find violations that constraints cannot, such as manual
// changes or bugs.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { isOpen } from './held-credits.ts'

/** Bound of rows per check, and of entries per lot; larger lots are skipped. */
const latestMax = 10_000
/** Latest entries, and at most this many of their lots. */
const entriesMax = 1_000
const lotsMax = 50
const tasksMax = 1_000
const workspacesMax = 50
const foundMax = 100

export const invariantNames = [
  'ledger_balance',
  'charged_twice',
  'ended_unsettled',
  'delivered_twice',
  'task_counts',
] as const

export type InvariantName = (typeof invariantNames)[number]

/** Ids of violating rows, at most 100: lots, tasks, deliveries or workspaces. */
export async function findViolations(db: Db, name: InvariantName): Promise<string[]> {
  const { rows } = await statements[name].execute(db)
  return rows.map(({ id }) => id)
}

const statements: Readonly<Record<InvariantName, RawBuilder<{ id: string }>>> = {
  // A lot's columns equal the sums of its entries.
  ledger_balance: sql`
    with touched as materialized (
      select distinct lot_id as id
        from (select lot_id from credit_entry order by id desc limit (select ${entriesMax}::int)) e limit ${lotsMax}
    )
    select l.id
      from touched join credit_lot l using (id)
     cross join lateral (
        select count(*) as entries,
               coalesce(sum(amount) filter (where from_account = 'source'), 0) as granted,
               coalesce(sum(case 'available' when to_account then amount when from_account then -amount end), 0)
                 as available,
               coalesce(sum(case 'held' when to_account then amount when from_account then -amount end), 0) as held,
               coalesce(sum(amount) filter (where to_account = 'spent'), 0) as spent,
               coalesce(sum(amount) filter (where to_account = 'expired'), 0) as expired,
               coalesce(sum(case 'refunded' when to_account then amount when from_account then -amount end), 0)
                 as refunded
          from (select from_account, to_account, amount from credit_entry
                 where lot_id = l.id order by id limit (select ${latestMax + 1}::int)) e) s
     where s.entries <= ${latestMax}::int
       and (l.granted, l.available, l.held, l.spent, l.expired, l.refunded)
           is distinct from (s.granted, s.available, s.held, s.spent, s.expired, s.refunded)
     limit ${foundMax}`,
  // A hold ends once, and a task is charged for at most one run.
  charged_twice: sql`
    select task_id as id
      from (select task_id, run, lot_id, from_account, to_account from credit_entry
             order by id desc limit (select ${latestMax}::int)) e
     where from_account = 'held' and task_id is not null
     group by task_id
    having count(*) > count(distinct (run, lot_id)) or count(distinct run) filter (where to_account = 'spent') > 1
     limit ${foundMax}`,
  // A task's hold is captured after a charged success and released otherwise.
  ended_unsettled: sql`
    select t.id
      from (select id, run, status = 'succeeded' and charge is distinct from 'none' as charged
              from task where completed_at is not null
             order by queued_at desc limit (select ${latestMax}::int)) t
     cross join lateral (
        select from credit_hold h
         where h.task_id = t.id
           and h.state <> case when h.run = t.run and t.charged then 'captured' else 'released' end
         limit 1) h
     limit ${foundMax}`,
  // No attempt follows a 2xx response.
  delivered_twice: sql`
    select delivery_id as id
      from (select delivery_id, error from delivery_attempt order by id desc limit (select ${latestMax}::int)) a
     where error is null
     group by delivery_id
    having count(*) > 1
     limit ${foundMax}`,
  // Workspace counters match its tasks; a high count blocks a slot forever.
  task_counts: sql`
    with touched as materialized (
      select distinct workspace_id as id
        from ((select workspace_id from task where ${isOpen}
                order by queued_at desc limit (select ${tasksMax}::int))
              union all
              (select workspace_id from task where completed_at is not null
                order by queued_at desc limit (select ${tasksMax}::int))) t
       limit ${workspacesMax}
    )
    select w.id
      from touched join workspace w using (id)
     cross join lateral (
        select count(*) as queued from (
          select from task t where t.workspace_id = w.id and t.status = 'queued' limit (select ${latestMax}::int)) t) q
     cross join lateral (
        select count(*) as processing from (
          select from task t where t.workspace_id = w.id and t.status = 'processing'
           limit (select ${latestMax}::int)) t) p
     where (least(w.queued, ${latestMax}::int), least(w.processing, ${latestMax}::int)) <> (q.queued, p.processing)
     limit ${foundMax}`,
}
