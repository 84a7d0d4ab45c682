import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/**
 * Writes off what a workspace has left, as expired: its owner gives it up. The caller's transaction has locked the
 * workspace's row, and nothing is held. Returns how many credits.
 */
export async function forfeitCredits(tx: Db, workspaceId: string): Promise<number> {
  const { rows } = await sql<{ amount: number }>`
    with part as materialized (
      select id, available as amount from credit_lot where workspace_id = ${workspaceId} and has_available for update
    ), lot as (
      update credit_lot l set available = 0, expired = l.expired + part.amount from part where l.id = part.id
      returning l.id, part.amount
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount)
      select ${workspaceId}::uuid, id, 'available', 'expired', amount from lot
    )
    select coalesce(sum(amount), 0) as amount from lot`.execute(tx)
  return rows[0]?.amount ?? 0
}
