// Invariants of a workspace's ledger, valid at any moment. Numbers are those of the properties in
// credit-properties.faults.test.ts.
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'

/** Each entry as two rows of signed amounts, one per account that it changes. */
const moves = (workspaceId: string) => sql`
  select id, lot_id, task_id, run, from_account as account, -amount as amount from credit_entry
   where workspace_id = ${workspaceId}
  union all
  select id, lot_id, task_id, run, to_account, amount from credit_entry where workspace_id = ${workspaceId}`

/** Each query selects rows that break the rule of its name. */
const rules = (id: string) => ({
  '1 every transaction sums to 0': sql`
    select id from (${moves(id)}) m group by id having sum(amount) <> 0 or count(distinct account) <> 2`,
  '2 available and held are never negative, at no entry of the history': sql`
    select lot_id as id from (
      select lot_id, account, sum(amount) over (partition by lot_id, account order by id) as balance
        from (${moves(id)}) m) b
     where account <> 'source' and balance < 0`,
  '3 granted = available + held + spent + expired + refunded + adjusted': sql`
    select id from credit_lot
     where workspace_id = ${id} and granted <> available + held + spent + expired + refunded + adjusted`,
  '4 the columns are the sums of the entries': sql`
    select l.id from credit_lot l left join (${moves(id)}) m on m.lot_id = l.id
     where l.workspace_id = ${id} group by l.id
    having (l.granted, l.available, l.held, l.spent, l.expired, l.refunded, l.adjusted) is distinct from (
      coalesce(-sum(m.amount) filter (where account = 'source'), 0),
      coalesce(sum(m.amount) filter (where account = 'available'), 0),
      coalesce(sum(m.amount) filter (where account = 'held'), 0),
      coalesce(sum(m.amount) filter (where account = 'spent'), 0),
      coalesce(sum(m.amount) filter (where account = 'expired'), 0),
      coalesce(sum(m.amount) filter (where account = 'refunded'), 0),
      coalesce(sum(m.amount) filter (where account = 'adjusted'), 0))`,
  '4 each entry says what its lot had available after it': sql`
    select id from (
      select id, lot_available, sum(case when to_account = 'available' then amount
                                         when from_account = 'available' then -amount else 0 end)
                                  over (partition by lot_id order by id) as available
        from credit_entry where workspace_id = ${id}) e
     where lot_available is distinct from available`,
  '4 the entries of a workspace were written in the order of their times': sql`
    select id from (select id, at, lag(at) over (order by id) as earlier from credit_entry where workspace_id = ${id}) e
     where at < earlier`,
  '5 each hold begins once and ends at most once, as its state says': sql`
    select h.task_id as id from credit_hold h join task t on t.id = h.task_id
      left join credit_entry e on e.task_id = h.task_id and e.run = h.run and e.lot_id = h.lot_id
     where t.workspace_id = ${id}
     group by h.task_id, h.run, h.lot_id, h.amount, h.state
    having coalesce(sum(e.amount) filter (where e.to_account = 'held'), 0) <> h.amount
        or count(*) filter (where e.to_account = 'held') <> 1
        or count(*) filter (where e.from_account = 'held') <> (h.state <> 'open')::int
        or coalesce(sum(e.amount) filter (where e.from_account = 'held' and e.to_account = case h.state
             when 'captured' then 'spent' else 'available' end), 0) <> case h.state when 'open' then 0 else h.amount end`,
  '9 a hold is open while its run is, captured after a charged success, released after any other end': sql`
    select t.id from task t join credit_hold h on h.task_id = t.id
     where t.workspace_id = ${id}
       and h.state <> case when h.run < t.run then 'released' when t.status = 'succeeded' and t.charge is distinct from 'none' then 'captured'
                           when t.completed_at is not null then 'released' else 'open' end`,
})

/** Names of broken rules; empty if all hold. */
export async function findBrokenCreditRules(db: Db, workspaceId: string): Promise<string[]> {
  const broken: string[] = []
  for (const [rule, query] of Object.entries(rules(workspaceId))) {
    const { rows } = await query.execute(db)
    if (rows.length > 0) broken.push(rule)
  }
  return broken
}

type Entry = { lot: string; from: string; to: string; amount: number; task: string | null; run: number | null }
type Lot = { id: string; priority: number; expires_at: Date | null; created_at: Date }

/**
 * Property 8: replays the history and finds holds that took from a lot while a better one, ordered by priority, expiry
 * and age, had credits left. `judged` limits this to lots that every hold could see.
 */
export async function findOrderViolations(
  db: Db,
  workspaceId: string,
  judged: (lot: Lot) => boolean = () => true,
): Promise<string[]> {
  const lots = await db
    .selectFrom('credit_lot')
    .select(['id', 'priority', 'expires_at', 'created_at'])
    .where('workspace_id', '=', workspaceId)
    .orderBy('priority')
    .orderBy('expires_at', (order) => order.asc().nullsLast())
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const { rows: entries } = await sql<Entry>`
    select lot_id as lot, from_account as "from", to_account as "to", amount, task_id as task, run from credit_entry
     where workspace_id = ${workspaceId} order by id`.execute(db)
  const available = new Map(lots.map((lot) => [lot.id, 0]))
  const violations: string[] = []
  const add = (lot: string, amount: number): void => void available.set(lot, (available.get(lot) ?? 0) + amount)
  for (const holds of groupHolds(entries)) {
    for (const { lot, from, to, amount } of holds) {
      if (from === 'available') add(lot, -amount)
      if (to === 'available') add(lot, amount)
    }
    // All parts of a hold but the last empty their lot, so lots better than the worst part must be empty.
    const taken = holds.filter(({ to }) => to === 'held').map(({ lot }) => lots.findIndex(({ id }) => id === lot))
    const better = lots.slice(0, Math.max(0, ...taken)).filter(judged)
    violations.push(...better.filter(({ id }) => (available.get(id) ?? 0) > 0).map(({ id }) => id))
  }
  return violations
}

/** Groups entries of one hold; each other entry is a group. */
function groupHolds(entries: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = []
  for (const entry of entries) {
    const last = groups.at(-1)?.[0]
    const same = last?.to === 'held' && entry.to === 'held' && last.task === entry.task && last.run === entry.run
    if (same) groups.at(-1)?.push(entry)
    else groups.push([entry])
  }
  return groups
}
