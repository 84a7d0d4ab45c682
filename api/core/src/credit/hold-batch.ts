import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import type { TaskRun } from './hold.ts'
import { noteLowPart } from './low-balance.ts'
import { limitReached, memberLimitError, useParts } from './member-use.ts'
import { isSpendable } from './spendable.ts'

type Holds = {
  readonly workspaceId: string
  readonly runs: readonly TaskRun[]
  /** Credits per run. */
  readonly amount: number
  /** The member whose limit the credits count against; null: none. */
  readonly userId: string | null
}

/**
 * `holdCredits` for many runs in one statement. Runs and lots are intervals on one line of credits; a run takes
 * their overlap from each lot. The caller's transaction holds the workspace's lock.
 * @throws MatteError CREDITS_INSUFFICIENT unless there are enough for all; then nothing is held
 */
export async function holdCreditsEach(db: Db, { workspaceId, userId, runs, amount }: Holds): Promise<void> {
  const use = { workspaceId, userId, amount: runs.length * amount }
  const ids = runs.map(({ taskId }) => taskId)
  const numbers = runs.map(({ run }) => run)
  const { rows } = await sql<{ held: number; limitReached: boolean }>`
    with lot as (
      select id, sum(available) over w - available as begins, sum(available) over w as ends
        from credit_lot
       where workspace_id = ${workspaceId} and has_available and ${isSpendable}
      window w as (order by priority, expires_at nulls last, created_at, id)
    ), wanted as (
      select task_id, run, (n - 1) * ${amount}::int as begins, n * ${amount}::int as ends
        from unnest(${ids}::uuid[], ${numbers}::int[]) with ordinality as r (task_id, run, n)
    ), part as materialized (
      select task_id, run, id as lot_id, (least(l.ends, r.ends) - greatest(l.begins, r.begins))::int as amount,
             (l.ends - least(l.ends, r.ends))::int as lot_available, r.ends as n
        from wanted r join lot l on l.begins < r.ends and r.begins < l.ends
    ), taken as (
      update credit_lot l set available = l.available - p.amount, held = l.held + p.amount
        from (select lot_id, sum(amount) as amount from part group by lot_id) p where l.id = p.lot_id
      returning l.available
    ), ${noteLowPart(sql`${workspaceId}::uuid`, 'taken')}, hold as (
      insert into credit_hold (task_id, run, lot_id, amount) select task_id, run, lot_id, amount from part
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available)
      select ${workspaceId}::uuid, lot_id, task_id, run, 'available', 'held', amount, lot_available from part
       order by n, lot_available
    ), ${useParts(use)}
    select coalesce(sum(amount), 0) as held, ${limitReached} as "limitReached" from part`.execute(db)
  const held = rows[0]?.held ?? 0
  const required = use.amount
  if (rows[0]?.limitReached) throw await memberLimitError(db, use)
  if (held < required) {
    throw new MatteError('CREDITS_INSUFFICIENT', `This needs ${required} credits and ${held} are available.`, {
      details: { required, available: held },
    })
  }
}
