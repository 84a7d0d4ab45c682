// Credits of a disputed payment. While a dispute is open, the lot cannot be spent: available credits move to `held`,
// and credits that a task releases meanwhile follow. A won dispute releases them, a lost one moves them to `refunded`.
// The caller's transaction holds the workspace's lock.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { graceHours } from './hold.ts'
import { armPart, lowBalanceColumns, noteLowPart } from './low-balance.ts'
import { isUnexpired } from './spendable.ts'

type Lot = { readonly workspaceId: string; readonly lotId: string }

/** Holds what is available. Idempotent. Returns the credits of the lot that disputes hold. */
export async function holdDisputed(tx: Db, { workspaceId, lotId }: Lot): Promise<number> {
  const { rows } = await sql<{ disputed: number }>`
    with part as materialized (
      select id, case when ${isUnexpired} then available else 0 end as amount
        from credit_lot where id = ${lotId} and workspace_id = ${workspaceId} for update
    ), lot as (
      update credit_lot l set available = l.available - part.amount, held = l.held + part.amount,
                              disputed = coalesce(l.disputed, 0) + part.amount
        from part where l.id = part.id
      returning l.id, l.available, l.disputed, part.amount
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available)
      select ${workspaceId}::uuid, id, 'available', 'held', amount, available from lot where amount > 0
    ), ${noteLowPart(sql`${workspaceId}::uuid`)}
    select disputed from lot`.execute(tx)
  return rows[0]?.disputed ?? 0
}

/**
 * Gives the held credits back. If the lot has expired meanwhile, they can be spent for a grace period, like credits
 * that a task releases.
 */
export async function releaseDisputed(tx: Db, { workspaceId, lotId }: Lot): Promise<void> {
  const { disputed } = await tx
    .selectFrom('credit_lot')
    .select('disputed')
    .where('id', '=', lotId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  if (disputed === null) return
  await sql`
    with owner as (
      select id, ${lowBalanceColumns} from workspace where id = ${workspaceId}
    ), lot as (
      update credit_lot set available = available + disputed, held = held - disputed, disputed = null,
             grace_until = case when disputed = 0 or ${isUnexpired} then grace_until
                                else now() + ${graceHours} * interval '1 hour' end
       where id = ${lotId}
      returning id, available
    ), ${armPart(disputed)}
    insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available)
    select ${workspaceId}::uuid, id, 'held', 'available', ${disputed}::int, available from lot
     where ${disputed}::int > 0`.execute(tx)
}

/** Takes the held credits for good. The lot stays unspendable. Returns their number. */
export async function takeDisputed(tx: Db, { workspaceId, lotId }: Lot): Promise<number> {
  const { rows } = await sql<{ taken: number }>`
    with part as materialized (
      select id, disputed as amount from credit_lot where id = ${lotId} and disputed > 0 for update
    ), lot as (
      update credit_lot l set held = l.held - part.amount, refunded = l.refunded + part.amount, disputed = 0
        from part where l.id = part.id
      returning l.id, l.available, part.amount
    )
    insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available)
    select ${workspaceId}::uuid, id, 'held', 'refunded', amount, available from lot
    returning amount as taken`.execute(tx)
  return rows[0]?.taken ?? 0
}

/** Reverses `takeDisputed`, because the decision was reversed: the credits are held again. */
export async function returnTaken(tx: Db, { workspaceId, lotId }: Lot, amount: number): Promise<void> {
  if (amount === 0) return
  await sql`
    with lot as (
      update credit_lot set refunded = refunded - ${amount}::int, held = held + ${amount}::int,
             disputed = coalesce(disputed, 0) + ${amount}::int
       where id = ${lotId} and workspace_id = ${workspaceId}
      returning id, available
    )
    insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available)
    select ${workspaceId}::uuid, id, 'refunded', 'held', ${amount}::int, available from lot`.execute(tx)
}
