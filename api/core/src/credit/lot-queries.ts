import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { armPart, lowBalanceColumns } from './low-balance.ts'

export type Grant = {
  readonly workspaceId: string
  readonly kind: string
  /** Credits, at least 1. */
  readonly amount: number
  readonly expiresAt?: Date | null
  /** 0 to 100, lowest spent first; default 50. */
  readonly priority?: number
  /** Idempotency key within the workspace, 1 to 255 characters. */
  readonly source?: string | null
  readonly adjustmentId?: string | null
}

/**
 * Creates a lot with its opening entry, or returns the lot of the same `source`. Undefined: no such workspace. It locks
 * the workspace, so entries are in time order.
 * @throws MatteError CONFLICT if the source was granted with another amount or kind
 */
export async function grantCredits(db: Db, grant: Grant): Promise<{ lotId: string } | undefined> {
  const { workspaceId, kind, amount, expiresAt = null, priority = 50, source = null, adjustmentId = null } = grant
  const { rows } = await sql<{ lotId: string }>`
    with owner as materialized (
      select id, expiry_days_before, ${lowBalanceColumns} from workspace where id = ${workspaceId} for no key update
    ), lot as (
      insert into credit_lot (workspace_id, kind, granted, available, expires_at, warn_at, priority, source)
      select id, ${kind}, ${amount}::int, ${amount}::int, ${expiresAt}::timestamptz,
             ${expiresAt}::timestamptz - expiry_days_before * interval '1 day', ${priority}::int, ${source}::text
        from owner
      on conflict (workspace_id, source) where source is not null do nothing
      returning id, workspace_id
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available, adjustment_id)
      select workspace_id, id, 'source', 'available', ${amount}::int, ${amount}::int, ${adjustmentId}::uuid from lot
    ), ${armPart(amount)}
    select id as "lotId" from lot`.execute(db)
  return rows[0] ?? (source === null ? undefined : findGranted(db, { ...grant, source }))
}

/** A separate statement: the first one does not see a concurrent grant. */
async function findGranted(db: Db, { workspaceId, source, amount, kind }: Grant & { source: string }) {
  const lot = await db
    .selectFrom('credit_lot')
    .select(['id as lotId', 'granted', 'kind'])
    .where('workspace_id', '=', workspaceId)
    .where('source', '=', source)
    .executeTakeFirst()
  if (lot === undefined) return undefined
  if (lot.granted !== amount || lot.kind !== kind) {
    throw new MatteError('CONFLICT', `The grant ${source} already exists, with ${lot.granted} credits as ${lot.kind}.`)
  }
  return { lotId: lot.lotId }
}
