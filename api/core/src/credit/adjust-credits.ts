import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { inTransaction } from '../db/in-transaction.ts'
import { MatteError } from '../error.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { grantCredits } from './lot-queries.ts'
import { noteLowPart } from './low-balance.ts'
import { isSpendable } from './spendable.ts'

type Adjustment = {
  readonly workspaceId: string
  /** Credits to add, or to take if negative; not 0. */
  readonly amount: number
  /** Shown in the workspace's ledger; 1 to 500 characters. */
  readonly reason: string
  /** Idempotency key within the workspace, 1 to 255 characters. */
  readonly reference: string
}

/**
 * Adjusts credits on behalf of an operator, once per reference. A positive amount is a new lot without expiry; a
 * negative one is taken from available credits in spending order, never from held ones. Undefined: no such workspace.
 * @throws MatteError CONFLICT if fewer credits are available, or if the reference was used for another amount
 */
export function adjustCredits(db: Db, adjustment: Adjustment): Promise<{ adjustmentId: string } | undefined> {
  return inTransaction(db, async (tx) => {
    const { workspaceId, amount, reason, reference } = adjustment
    if ((await lockWorkspace(tx, workspaceId)) === undefined) return undefined
    const made = await tx
      .insertInto('credit_adjustment')
      .values({ workspace_id: workspaceId, amount, reason, reference })
      .onConflict((conflict) => conflict.columns(['workspace_id', 'reference']).doNothing())
      .returning('id')
      .executeTakeFirst()
    if (made === undefined) return findEarlier(tx, adjustment)
    const adjustmentId = made.id
    if (amount < 0) await takeCredits(tx, { workspaceId, adjustmentId, amount: -amount })
    else await grantCredits(tx, { workspaceId, kind: 'adjust', amount, adjustmentId })
    return { adjustmentId }
  })
}

async function findEarlier(tx: Db, { workspaceId, reference, amount }: Adjustment) {
  const earlier = await tx
    .selectFrom('credit_adjustment')
    .select(['id', 'amount'])
    .where('workspace_id', '=', workspaceId)
    .where('reference', '=', reference)
    .executeTakeFirstOrThrow()
  if (earlier.amount !== amount) {
    throw new MatteError('CONFLICT', `The adjustment ${reference} already exists, with ${earlier.amount} credits.`)
  }
  return { adjustmentId: earlier.id }
}

type Taking = { readonly workspaceId: string; readonly adjustmentId: string; readonly amount: number }

/** The caller's transaction holds the workspace's lock. */
async function takeCredits(tx: Db, { workspaceId, adjustmentId, amount }: Taking): Promise<void> {
  const { rows } = await sql<{ taken: number }>`
    with ranked as (
      select id, available,
             sum(available) over (order by priority, expires_at nulls last, created_at, id) - available as before
        from credit_lot
       where workspace_id = ${workspaceId} and has_available and ${isSpendable}
    ), part as (
      select id, least(available, ${amount}::int - before)::int as amount from ranked where before < ${amount}::int
    ), lot as (
      update credit_lot l set available = l.available - part.amount, adjusted = l.adjusted + part.amount
        from part where l.id = part.id
      returning l.id, part.amount, l.available
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available, adjustment_id)
      select ${workspaceId}::uuid, id, 'available', 'adjusted', amount, available, ${adjustmentId}::uuid from lot
    ), ${noteLowPart(sql`${workspaceId}::uuid`)}
    select coalesce(sum(amount), 0) as taken from lot`.execute(tx)
  const taken = rows[0]?.taken ?? 0
  if (taken < amount) {
    throw new MatteError('CONFLICT', `Only ${taken} credit(s) are available; held credits cannot be taken.`, {
      details: { available: taken },
    })
  }
}
