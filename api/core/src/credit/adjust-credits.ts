import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { grantCredits } from './lot-queries.ts'
import { noteLowPart } from './low-balance.ts'
import { isSpendable } from './spendable.ts'

type Adjustment = {
  readonly workspaceId: string
  /** Credits to add, or when negative to take away; never 0. */
  readonly amount: number
  /** For the owners of the workspace: it is in their ledger. 1 to 500 characters. */
  readonly reason: string
  /** Names the adjustment within its workspace, 1 to 255 characters: the same again changes nothing. */
  readonly reference: string
}

/**
 * An operator's correction, once a reference. What is added is a lot of its own that does not expire; what is taken
 * comes from what is available, in the order of spending, and never from what is held. Undefined: no such workspace.
 * @throws MatteError CONFLICT when less is available, or when that reference was another amount; nothing done.
 */
export function adjustCredits(db: Db, adjustment: Adjustment): Promise<{ adjustmentId: string } | undefined> {
  return db.transaction().execute(async (tx) => {
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
    throw new MatteError('CONFLICT', `The adjustment ${reference} was made before, by ${earlier.amount} credits.`)
  }
  return { adjustmentId: earlier.id }
}

type Taking = { readonly workspaceId: string; readonly adjustmentId: string; readonly amount: number }

/** The caller's transaction has locked the workspace row. */
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
    throw new MatteError('CONFLICT', `Only ${taken} credit(s) are available to be taken; what is held stays.`, {
      details: { available: taken },
    })
  }
}
