import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Open tasks whose credits are added up, the oldest first. */
const tasksMax = 10_000

/** Credits held by tasks that have not ended; a hold that outlived its task is a broken rule, see invariants.ts. */
export async function readHeldCredits(db: Db): Promise<number> {
  const { rows } = await sql<{ held: number }>`
    select coalesce(sum(h.amount), 0)::float8 as held
      from (select id, run from task where status in ('queued', 'processing')
             order by queued_at limit (select ${tasksMax}::int)) t
     cross join lateral (
        select sum(amount) as amount from credit_hold
         where task_id = t.id and run = t.run and state = 'open') h`.execute(db)
  return rows[0]?.held ?? 0
}
