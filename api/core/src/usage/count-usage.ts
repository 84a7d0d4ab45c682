import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

export type UsageChange = {
  readonly created?: number
  readonly succeeded?: number
  readonly failed?: number
  readonly canceled?: number
  readonly credits?: number
  readonly latencyMs?: number
}

/** Adds to today's (UTC) counters of a workspace, in the transaction that it counts (D70). */
export async function countUsage(db: Db, workspaceId: string, change: UsageChange): Promise<void> {
  const { created = 0, succeeded = 0, failed = 0, canceled = 0, credits = 0, latencyMs = 0 } = change
  await sql`
    insert into usage_day as u (workspace_id, day, created, succeeded, failed, canceled, credits, latency_ms)
    values (${workspaceId}, (now() at time zone 'utc')::date, ${created}, ${succeeded}, ${failed}, ${canceled},
            ${credits}, ${latencyMs})
    on conflict (workspace_id, day) do update set
      created = u.created + excluded.created, succeeded = u.succeeded + excluded.succeeded,
      failed = u.failed + excluded.failed, canceled = u.canceled + excluded.canceled,
      credits = u.credits + excluded.credits, latency_ms = u.latency_ms + excluded.latency_ms`.execute(db)
}
