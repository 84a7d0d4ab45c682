import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Plans } from '../workspace/plan.ts'
import { planSeconds } from './plan-seconds.ts'

/**
 * Brings forward looks at workspaces that a longer retention had set (A188), for a worker that starts with new
 * settings. Without it a shorter retention would count up to a day later. Returns the number of workspaces.
 */
export async function hastenLooks(db: Db, plans: Plans): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update workspace set retention_at = now()
     where id in (select w.id from workspace w cross join lateral (${planSeconds(plans)}) p
                   where w.retention_at > now() + p.seconds * interval '1 second')`.execute(db)
  return Number(numAffectedRows)
}
