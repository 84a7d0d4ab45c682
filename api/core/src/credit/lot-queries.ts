import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'

export type Grant = {
  readonly workspaceId: string
  readonly kind: string
  /** Credits, at least 1. */
  readonly amount: number
  readonly expiresAt?: Date | null
  /** 0 to 100, the lowest is spent first; 50 unless given. */
  readonly priority?: number
  /** Names the grant within its workspace, 1 to 255 characters: granting the same again changes nothing. */
  readonly source?: string | null
}

/** Whether a lot's available credits may be spent: before its expiry, or in the grace time after a late release. */
export const isSpendable = sql<boolean>`(expires_at is null or greatest(expires_at, grace_until) > now())`

/**
 * A new lot with its opening entry, in one statement; the lot of the same `source` when there is one. Undefined: no
 * such workspace.
 * @throws MatteError CONFLICT when that source was granted with another amount or kind.
 */
export async function grantCredits(db: Db, grant: Grant): Promise<{ lotId: string } | undefined> {
  const { workspaceId, kind, amount, expiresAt = null, priority = 50, source = null } = grant
  const { rows } = await sql<{ lotId: string }>`
    with lot as (
      insert into credit_lot (workspace_id, kind, granted, available, expires_at, priority, source)
      select id, ${kind}, ${amount}::int, ${amount}::int, ${expiresAt}::timestamptz, ${priority}::int, ${source}::text
        from workspace where id = ${workspaceId}
      on conflict (workspace_id, source) where source is not null do nothing
      returning id, workspace_id
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount)
      select workspace_id, id, 'source', 'available', ${amount}::int from lot
    )
    select id as "lotId" from lot`.execute(db)
  return rows[0] ?? (source === null ? undefined : findGranted(db, { ...grant, source }))
}

/** A statement of its own: the one that met the other grant cannot see it yet. */
async function findGranted(db: Db, { workspaceId, source, amount, kind }: Grant & { source: string }) {
  const lot = await db
    .selectFrom('credit_lot')
    .select(['id as lotId', 'granted', 'kind'])
    .where('workspace_id', '=', workspaceId)
    .where('source', '=', source)
    .executeTakeFirst()
  if (lot === undefined) return undefined
  if (lot.granted !== amount || lot.kind !== kind) {
    throw new MatteError('CONFLICT', `The grant ${source} was made before, with ${lot.granted} credits as ${lot.kind}.`)
  }
  return { lotId: lot.lotId }
}

/** Credits of a workspace (D71), counted over its lots. */
type Balance = {
  /** Can be spent now. */
  readonly available: number
  /** Belongs to tasks that have not ended. */
  readonly held: number
  readonly total: number
  /** The part of `available` that expires within `soonDays`. */
  readonly expiringSoon: number
}

/** Long enough to use them up; the same notice as in `credits.expiration_warning`. */
const soonDays = 7

export async function readBalance(db: Db, workspaceId: string): Promise<Balance> {
  const { rows } = await sql<Balance>`
    select coalesce(sum(available) filter (where ${isSpendable}), 0) as available,
           coalesce(sum(held), 0) as held,
           coalesce(sum(available) filter (where ${isSpendable}), 0) + coalesce(sum(held), 0) as total,
           coalesce(sum(available) filter (where ${isSpendable}
             and greatest(expires_at, grace_until) <= now() + ${soonDays} * interval '1 day'), 0) as "expiringSoon"
      from credit_lot where workspace_id = ${workspaceId}`.execute(db)
  return rows[0] as Balance // an aggregate without GROUP BY has one row
}
