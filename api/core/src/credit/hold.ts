// A credit's life on a task: held at creation, captured on success, released to the same lot on failure or cancel
// (D31), each in the transaction that moves the task and unique per (task, run). Amounts leave a lot only by a
// conditional update; CHECK constraints make a negative account impossible whatever the code does.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'

export type TaskRun = { readonly taskId: string; readonly run: number }

/**
 * Holds `amount` credits in the order priority, expiry, age (D71), over several lots if need be. The caller's
 * transaction has locked the workspace row, so that two holds of one workspace never meet on a lot.
 * @throws MatteError CREDITS_INSUFFICIENT, nothing held.
 */
export async function holdCredits(db: Db, workspaceId: string, { taskId, run }: TaskRun, amount: number) {
  const { rows } = await sql<{ held: number }>`
    with ranked as (
      select id, available,
             sum(available) over (order by priority, expires_at nulls last, created_at, id) - available as before
        from credit_lot
       where workspace_id = ${workspaceId} and available > 0 and (expires_at is null or expires_at > now())
    ), part as (
      select id, least(available, ${amount}::int - before)::int as amount from ranked where before < ${amount}::int
    ), lot as (
      update credit_lot l set available = l.available - part.amount, held = l.held + part.amount
        from part where l.id = part.id
      returning l.id, part.amount
    ), hold as (
      insert into credit_hold (task_id, run, lot_id, amount) select ${taskId}::uuid, ${run}::int, id, amount from lot
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount)
      select ${workspaceId}::uuid, id, ${taskId}::uuid, ${run}::int, 'available', 'held', amount from lot
    )
    select coalesce(sum(amount), 0)::int as held from lot`.execute(db)
  const held = rows[0]?.held ?? 0
  if (held < amount) {
    throw new MatteError('CREDITS_INSUFFICIENT', `This needs ${amount} credit(s) and ${held} are available.`, {
      details: { required: amount, available: held },
    })
  }
}

/** Ends the open hold of a run, once; a second call, or a run without a hold, changes nothing. */
export async function settleHold(db: Db, { taskId, run }: TaskRun, outcome: 'captured' | 'released'): Promise<number> {
  const to = outcome === 'captured' ? 'spent' : 'available'
  const { rows } = await sql<{ amount: number }>`
    with hold as (
      update credit_hold set state = ${outcome}
       where task_id = ${taskId} and run = ${run} and state = 'open'
      returning lot_id, amount
    ), lot as (
      update credit_lot l set held = l.held - hold.amount, ${sql.ref(to)} = ${sql.ref(`l.${to}`)} + hold.amount
        from hold where l.id = hold.lot_id
      returning l.id, l.workspace_id, hold.amount
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount)
      select workspace_id, id, ${taskId}::uuid, ${run}::int, 'held', ${to}, amount from lot
    )
    select coalesce(sum(amount), 0)::int as amount from lot`.execute(db)
  return rows[0]?.amount ?? 0
}
