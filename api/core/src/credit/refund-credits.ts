import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { noteLowPart } from './low-balance.ts'
import { isSpendable } from './spendable.ts'

type Refund = {
  readonly workspaceId: string
  readonly lotId: string
  /** Credits to take back, at least 1. */
  readonly amount: number
  /** Names the refund within its workspace, 1 to 255 characters: the same again changes nothing. */
  readonly reference: string
}

/** What could be refunded of a lot: its available part (D71). Undefined: no such lot of this workspace. */
export async function findRefundable(db: Db, workspaceId: string, lotId: string): Promise<number | undefined> {
  const lot = await db
    .selectFrom('credit_lot')
    .select(sql<number>`case when ${isSpendable} then available else 0 end`.as('refundable'))
    .where('id', '=', lotId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return lot?.refundable
}

/**
 * Takes credits of one lot back, once a reference, inside the caller's transaction, which this makes lock the
 * workspace row. Undefined: no such lot of this workspace, nothing done.
 * @throws MatteError CONFLICT when more is asked for than the lot has available, nothing done.
 */
export async function refundCredits(tx: Db, refund: Refund): Promise<{ refunded: number } | undefined> {
  const { workspaceId, lotId, amount, reference } = refund
  await lockWorkspace(tx, workspaceId)
  const earlier = await tx
    .selectFrom('credit_entry')
    .select('amount as refunded')
    .where('workspace_id', '=', workspaceId)
    .where('reference', '=', reference)
    .executeTakeFirst()
  if (earlier !== undefined) return earlier
  const { rows } = await sql<{ refunded: number }>`
    with lot as (
      update credit_lot set available = available - ${amount}::int, refunded = refunded + ${amount}::int
       where id = ${lotId} and workspace_id = ${workspaceId} and available >= ${amount}::int and ${isSpendable}
      returning id, available
    ), ${noteLowPart(sql`${workspaceId}::uuid`)}
    insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, reference, lot_available)
    select ${workspaceId}::uuid, id, 'available', 'refunded', ${amount}::int, ${reference}::text, available from lot
    returning amount as refunded`.execute(tx)
  if (rows[0] !== undefined) return rows[0]
  const refundable = await findRefundable(tx, workspaceId, lotId)
  if (refundable === undefined) return undefined
  throw new MatteError('CONFLICT', `Of this purchase ${refundable} credit(s) are left to refund.`, {
    details: { refundable },
  })
}
