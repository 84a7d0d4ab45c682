// Rules of the ledger and of "once" that a bounded statement can check in a running service, for an alarm (A65). Each
// looks at what changed last, by the end of an index, and each is one statement, whose snapshot is consistent: what a
// transaction is about to change breaks no rule. Constraints keep most of them already; these find what a constraint
// cannot see, such as a row that somebody wrote by hand, or a bug of ours.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Rows at the end of an index: entries, attempts, ended tasks. */
const latestMax = 10_000
/** Entries whose lots are added up, the lots, and the entries of one lot; one with more is left out. */
const entriesMax = 1_000
const lotsMax = 50
/** Tasks whose workspaces are counted, and those workspaces. */
const tasksMax = 1_000
const workspacesMax = 50
/** Rows that are reported. */
const foundMax = 100

export const invariantNames = [
  'ledger_balance',
  'charged_twice',
  'ended_unsettled',
  'delivered_twice',
  'task_counts',
] as const

export type InvariantName = (typeof invariantNames)[number]

/** Ids of the rows that break it, at most a hundred: of a lot, a task, a delivery, a workspace. */
export async function findViolations(db: Db, name: InvariantName): Promise<string[]> {
  const { rows } = await statements[name].execute(db)
  return rows.map(({ id }) => id)
}

const statements: Readonly<Record<InvariantName, RawBuilder<{ id: string }>>> = {
  // The columns of a lot are the sums of its entries.
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
               coalesce(sum(amount) filter (where to_account = 'refunded'), 0) as refunded
          from (select from_account, to_account, amount from credit_entry
                 where lot_id = l.id order by id limit (select ${latestMax + 1}::int)) e) s
     where s.entries <= ${latestMax}::int
       and (l.granted, l.available, l.held, l.spent, l.expired, l.refunded)
           is distinct from (s.granted, s.available, s.held, s.spent, s.expired, s.refunded)
     limit ${foundMax}`,
  // A hold ends once, and a task is charged for one run at the most.
  charged_twice: sql`
    select task_id as id
      from (select task_id, run, lot_id, from_account, to_account from credit_entry
             order by id desc limit (select ${latestMax}::int)) e
     where from_account = 'held' and task_id is not null
     group by task_id
    having count(*) > count(distinct (run, lot_id)) or count(distinct run) filter (where to_account = 'spent') > 1
     limit ${foundMax}`,
  // What a task held is spent once it has succeeded, and given back after any other end.
  ended_unsettled: sql`
    select t.id
      from (select id, run, status from task where completed_at is not null
             order by queued_at desc limit (select ${latestMax}::int)) t
     cross join lateral (
        select from credit_hold h
         where h.task_id = t.id
           and h.state <> case when h.run = t.run and t.status = 'succeeded' then 'captured' else 'released' end
         limit 1) h
     limit ${foundMax}`,
  // After an attempt that was answered 2xx there is no further one.
  delivered_twice: sql`
    select delivery_id as id
      from (select delivery_id, error from delivery_attempt order by id desc limit (select ${latestMax}::int)) a
     where error is null
     group by delivery_id
    having count(*) > 1
     limit ${foundMax}`,
  // A workspace counts what it has waiting and processing; a count that is too high takes a slot from it forever.
  task_counts: sql`
    with touched as materialized (
      select distinct workspace_id as id
        from ((select workspace_id from task where status in ('queued', 'processing')
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
