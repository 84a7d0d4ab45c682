// Credits of a task: held at creation, captured on success, released to the same lot on failure or cancel, each
// in the transaction that moves the task, once per (task, run). CHECK constraints forbid negative accounts. Every
// writer of lots holds the workspace's lock first.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { noteLowPart } from './low-balance.ts'
import { giveBackPart, memberLimitError } from './member-use.ts'
import { isSpendable } from './spendable.ts'

export type TaskRun = { readonly taskId: string; readonly run: number }

type Hold = TaskRun & {
  readonly workspaceId: string
  readonly amount: number
  /** The member whose limit the credits count against; null: none. */
  readonly userId: string | null
}

/**
 * Holds `amount` credits in the order priority, expiry, age (D71), from several lots if needed, in a function
 * (migration 0050). The caller's transaction holds the workspace's lock.
 * @throws MatteError CREDITS_INSUFFICIENT; then nothing is held
 */
export async function holdCredits(db: Db, hold: Hold): Promise<void> {
  const { workspaceId, userId, taskId, run, amount } = hold
  const { rows } = await sql<{ taken: number; limitReached: boolean }>`
    select taken, limit_reached as "limitReached"
      from hold_credits(${workspaceId}::uuid, ${userId}::uuid, ${taskId}::uuid, ${run}::int, ${amount}::int, false)`.execute(
    db,
  )
  const taken = rows[0]?.taken ?? 0
  if (rows[0]?.limitReached) throw await memberLimitError(db, hold)
  if (taken < amount) {
    throw new MatteError('CREDITS_INSUFFICIENT', `This needs ${amount} credit(s) and ${taken} are available.`, {
      details: { required: amount, available: taken },
    })
  }
}

/**
 * The same within the statement that inserts a task: joins the holding function to the part `created`, and rolls all of
 * it back unless the credits could be held (`isHoldRefused`).
 */
export const holdForCreated = sql`
  hold_credits(created.workspace_id, created.created_by, created.id, created.run, created.credit_cost, true)`

/**
 * Whether that hold can be expected to succeed; a transaction with `holdCredits` tells why not. The statement may see
 * the lots as they were before it waited for the workspace, so the function decides.
 */
export const mayHold = ({
  workspaceId,
  userId,
  amount,
}: Pick<Hold, 'workspaceId' | 'userId' | 'amount'>) => sql<boolean>`
  (select coalesce(sum(available), 0) >= ${amount}::int
     from credit_lot where workspace_id = ${workspaceId}::uuid and has_available and ${isSpendable})
  and not ${hasLimit(workspaceId, userId)}`

const hasLimit = (workspaceId: string, userId: string | null) =>
  userId === null
    ? sql<boolean>`false`
    : sql<boolean>`exists (select from membership
        where workspace_id = ${workspaceId}::uuid and user_id = ${userId}::uuid and credit_limit is not null)`

/** Rare: lots or limit changed while the statement waited for the workspace. */
export const isHoldRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'MT001'

/** Grace period in hours for credits held before the lot's expiry and released after it, by a task or a dispute. */
export const graceHours = 72

/** Settles the open holds of these runs of one workspace, each once; returns the number of credits. */
export async function settleHolds(db: Db, runs: readonly TaskRun[], outcome: Settled): Promise<number> {
  const taskIds = runs.map(({ taskId }) => taskId)
  const numbers = runs.map(({ run }) => run)
  const parts = settleParts({
    runs: sql`unnest(${taskIds}::uuid[], ${numbers}::int[])`,
    outcome,
    // Not `now()`: the transaction may have begun before the expiry and waited for a sweep that came after it.
    at: sql`(select statement_timestamp())`,
  })
  const { rows } = await sql<{ amount: number }>`
    with ${parts} select coalesce(sum(amount), 0) as amount from hold`.execute(db)
  return rows[0]?.amount ?? 0
}

type Settled = 'captured' | 'released'

type Parts = {
  /** Rows (task_id, run). */
  readonly runs: Sql
  readonly outcome: Settled
  /** Time that expiries are compared with; taken after the workspace is locked. */
  readonly at: Sql
}

/**
 * Parts of a larger statement that settle holds; `hold` returns the settled rows with their `amount`. A release returns
 * credits to their lot. If the lot has lapsed, its other credits expire first, so the grace period does not revive
 * them. Only credits held before the expiry start a grace period; otherwise holding and canceling would keep credits
 * forever.
 */
export function settleParts({ runs, outcome, at }: Parts): Sql {
  return sql`hold as (
      update credit_hold h set state = ${outcome}
        from ${runs} as r (task_id, run)
       where h.task_id = r.task_id and h.run = r.run and h.state = 'open'
      returning h.task_id, h.run, h.lot_id, h.amount, h.held_at
    ), part as materialized (
      select lot_id, sum(amount) as amount, min(held_at) as held_at from hold group by lot_id
    ), ${outcome === 'captured' ? captureParts : releaseParts(at)}`
}

const captureParts = sql`lot as (
      update credit_lot l set held = l.held - part.amount, spent = l.spent + part.amount
        from part where l.id = part.lot_id
      returning l.id, l.workspace_id, l.available
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available)
      select lot.workspace_id, lot.id, hold.task_id, hold.run, 'held', 'spent', hold.amount, lot.available
        from hold join lot on lot.id = hold.lot_id
    )`

const releaseParts = (at: Sql): Sql => sql`before as materialized (
      select l.id, part.amount, part.held_at < l.expires_at and l.expires_at <= ${at} as late,
             case when greatest(l.expires_at, l.grace_until) <= ${at} then l.available else 0 end as lapsed
        from part join credit_lot l on l.id = part.lot_id
         for update of l
    ), lot as (
      update credit_lot l
         set held = l.held - before.amount, available = l.available + before.amount - before.lapsed,
             expired = l.expired + before.lapsed,
             grace_until = case when before.late then ${at} + ${graceHours} * interval '1 hour'
                                else l.grace_until end
        from before where l.id = before.id
      returning l.id, l.workspace_id, l.available, before.amount, before.lapsed
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available)
      ${releaseEntries}
    ), ${giveBackPart}, ${noteLowPart(lapsedWorkspace)}`

/** `lot_available` counts the entries before it in `n`; the expiry comes last. */
const releaseEntries = sql`
      select workspace_id, lot_id, task_id, run, from_account, to_account, amount, lot_available
        from (select lot.workspace_id, lot.id as lot_id, hold.task_id, hold.run, 'held' as from_account,
                     'available' as to_account, hold.amount,
                     lot.available + lot.lapsed - lot.amount + sum(hold.amount) over w as lot_available,
                     row_number() over w as n
                from hold join lot on lot.id = hold.lot_id
              window w as (partition by lot.id order by hold.task_id, hold.run)
              union all
              select workspace_id, id, null, null, 'available', 'expired', lapsed, available, null
                from lot where lapsed > 0) e
       order by n nulls last`

/** Lapsed credits were available until the release, so the balance may be low. */
const lapsedWorkspace = sql`(select workspace_id from lot where lapsed > 0 limit 1)`

type Sql = RawBuilder<unknown>
