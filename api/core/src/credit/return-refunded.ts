import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { armPart, lowBalanceColumns } from './low-balance.ts'

type Returned = {
  readonly workspaceId: string
  readonly lotId: string
  readonly amount: number
  /** Names the return within its workspace; the same again changes nothing. */
  readonly reference: string
}

/**
 * Gives credits back to the lot that `refundCredits` took them from, when the money did not reach the payer. What has
 * lapsed meanwhile expires with the next sweep. The caller's transaction has locked the workspace row.
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
