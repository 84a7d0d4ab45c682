import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { isSpendable } from './spendable.ts'

/** Credits of a workspace: sums over its lots. */
type Balance = {
  /** Spendable now. */
  readonly available: number
  /** Held for tasks that have not ended. */
  readonly held: number
  readonly total: number
  /** Part of `available` that expires before `soonUntil`. */
  readonly expiringSoon: number
  readonly soonUntil: Date
}

/** Credits that can be spent now, by their origin. */
type Available = { readonly ofPlan: number; readonly others: number }

export async function readAvailable(db: Db, workspaceId: string): Promise<Available> {
  const { rows } = await sql<Available>`
    select coalesce(sum(available) filter (where kind = 'plan'), 0) as "ofPlan",
           coalesce(sum(available) filter (where kind <> 'plan'), 0) as others
      from credit_lot where workspace_id = ${workspaceId} and ${isSpendable}`.execute(db)
  return rows[0] as Available // an aggregate without GROUP BY has one row
}

/** Same as the default of `credits.expiration_warning`. */
const soonDays = 7

export async function readBalance(db: Db, workspaceId: string): Promise<Balance> {
  const { rows } = await sql<Balance>`
    select coalesce(sum(available) filter (where ${isSpendable}), 0) as available,
           coalesce(sum(held), 0) as held,
           coalesce(sum(available) filter (where ${isSpendable}), 0) + coalesce(sum(held), 0) as total,
           coalesce(sum(available) filter (where ${isSpendable}
             and greatest(expires_at, grace_until) <= now() + ${soonDays} * interval '1 day'), 0) as "expiringSoon",
           now() + ${soonDays} * interval '1 day' as "soonUntil"
      from credit_lot where workspace_id = ${workspaceId}`.execute(db)
  return rows[0] as Balance // an aggregate without GROUP BY has one row
}
