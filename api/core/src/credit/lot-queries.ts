import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

export type Grant = {
  readonly workspaceId: string
  readonly kind: string
  readonly amount: number
  readonly expiresAt?: Date | null
}

/** A new lot with its opening entry, in one statement. Undefined: no such workspace. */
export async function grantCredits(db: Db, { workspaceId, kind, amount, expiresAt = null }: Grant) {
  const { rows } = await sql<{ lotId: string }>`
    with lot as (
      insert into credit_lot (workspace_id, kind, granted, available, expires_at)
      select id, ${kind}, ${amount}::int, ${amount}::int, ${expiresAt}::timestamptz
        from workspace where id = ${workspaceId}
      returning id, workspace_id
    ), entry as (
      insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount)
      select workspace_id, id, 'source', 'available', ${amount}::int from lot
    )
    select id as "lotId" from lot`.execute(db)
  return rows[0]
}
