import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { armPart, lowBalanceColumns, noteLowPart } from './low-balance.ts'
import { isSpendable } from './spendable.ts'

type Refund = {
  readonly workspaceId: string
  readonly lotId: string
  /** Credits to take back, at least 1. */
  readonly amount: number
  /** Idempotency key within the workspace, 1 to 255 characters. */
  readonly reference: string
}

/** Refundable credits of a lot: its available part. Undefined: no such lot in this workspace. */
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
 * Takes credits back from a lot, once per reference. Locks the workspace in the caller's transaction. Undefined: no
 * such lot in this workspace.
 * @throws MatteError CONFLICT if the lot has fewer credits available
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
  throw new MatteError('CONFLICT', `Only ${refundable} credit(s) of this purchase can be refunded.`, {
    details: { refundable },
  })
}

type Returned = {
  readonly workspaceId: string
  readonly lotId: string
  readonly amount: number
  /** Idempotency key within the workspace. */
  readonly reference: string
}

/**
 * Returns refunded credits to their lot when the money did not reach the payer. The caller's transaction holds the
 * workspace's lock.
 */
export async function returnRefunded(tx: Db, { workspaceId, lotId, amount, reference }: Returned): Promise<void> {
  await sql`
    with owner as (
      select id, ${lowBalanceColumns} from workspace where id = ${workspaceId}
    ), lot as (
      update credit_lot set available = available + ${amount}::int, refunded = refunded - ${amount}::int
       where id = ${lotId} and workspace_id = ${workspaceId} and refunded >= ${amount}::int
         and not exists (select from credit_entry where workspace_id = ${workspaceId} and reference = ${reference})
      returning id, available
    ), ${armPart(amount)}
    insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, reference, lot_available)
    select ${workspaceId}::uuid, id, 'refunded', 'available', ${amount}::int, ${reference}::text, available
      from lot`.execute(tx)
}
