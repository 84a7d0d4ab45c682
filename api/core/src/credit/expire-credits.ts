// Expires lots at their expiry or at the end of a grace period (D71). Held credits do not expire: they are captured or
// come back by a release.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../db/sweep.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { noteLowPart } from './low-balance.ts'

/** Moves available credits of lapsed lots to `expired`, one transaction per workspace; returns the number of credits. */
export async function expireCredits(db: Db, pass: SweepPass = {}): Promise<number> {
  const { now, limit = 100 } = pass
  const at = now === undefined ? sql`now()` : sql`${now}::timestamptz`
  const lapsed = sql<boolean>`(has_available and greatest(expires_at, grace_until) <= ${at})`
  const { rows } = await sql<{ id: string }>`
    select distinct workspace_id as id
      from (select workspace_id from credit_lot where ${lapsed} and workspace_id <> all(${idsAside(pass)}::uuid[])
             order by greatest(expires_at, grace_until) limit ${limit}) l`.execute(db)
  return sumEach(rows, pass, ({ id }) =>
    db.transaction().execute(async (tx) => {
      await lockWorkspace(tx, id)
      const { rows: lots } = await sql<{ amount: number }>`
        with part as materialized (
          select id, available as amount from credit_lot where workspace_id = ${id} and ${lapsed} for update
        ), lot as (
          update credit_lot l set available = 0, expired = l.expired + part.amount from part where l.id = part.id
          returning l.id, part.amount, l.available
        ), entry as (
          insert into credit_entry (workspace_id, lot_id, from_account, to_account, amount, lot_available)
          select ${id}::uuid, id, 'available', 'expired', amount, 0 from lot
        ), ${noteLowPart(sql`${id}::uuid`)}
        select amount from lot`.execute(tx)
      return lots.reduce((sum, { amount }) => sum + amount, 0)
    }),
  )
}

/**
 * Expires all available credits of a team that is being deleted. The caller's transaction holds the workspace's
 * lock, and nothing is held. Returns the number of credits.
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
