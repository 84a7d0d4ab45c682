// Delay of due deletions, which the controller's sweeps perform.
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { planSeconds } from '../retention/plan-seconds.ts'
import { type Plans, unusedHours } from '../workspace/plan.ts'

export const retained = ['uploads', 'objects', 'credits', 'tasks'] as const

type Retained = (typeof retained)[number]

type Lag = { readonly what: Retained; readonly seconds: number }

/** Unused uploads, objects without rows, expired lots: one index entry each. */
export async function readRetentionLag(db: Db): Promise<Lag[]> {
  const { rows } = await sql<Lag>`
    select what, greatest(0, coalesce(extract(epoch from now() - due), 0))::float8 as seconds
      from (values
        ('uploads', (select created_at + ${unusedHours} * interval '1 hour' from upload
                      where used_at is null and deleted_at is null order by created_at limit 1)),
        ('objects', (select due_at from object_deletion order by due_at limit 1)),
        ('credits', (select greatest(expires_at, grace_until) from credit_lot
                      where has_available and greatest(expires_at, grace_until) <= now()
                      order by greatest(expires_at, grace_until) limit 1))) as oldest (what, due)`.execute(db)
  return rows
}

/** Finished tasks by their retention; one look-up per workspace that the sweep has to look at. */
export async function readTaskRetentionLag(db: Db, plans: Plans): Promise<Lag[]> {
  const { rows } = await sql<Lag>`
    select 'tasks' as what, greatest(0, coalesce(extract(epoch from now() - least(
             (select min(t.completed_at + p.seconds * interval '1 second')
                from workspace w
               cross join lateral (${planSeconds(plans)}) p
               cross join lateral (
                  select completed_at from task
                   where workspace_id = w.id and completed_at is not null and delete_at is null
                   order by completed_at limit 1) t
               where w.retention_at <= now()),
             (select delete_at from task where delete_at is not null order by delete_at limit 1))), 0))::float8
             as seconds`.execute(db)
  return rows
}
