import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** A condition on `queued_at`, which every row meets, opens the index `task_open_age`. */
export const isOpen = sql<boolean>`(status in ('queued', 'processing') and queued_at < 'infinity')`

const tasksMax = 10_000

export async function readHeldCredits(db: Db): Promise<number> {
  const { rows } = await sql<{ held: number }>`
    select coalesce(sum(h.amount), 0)::float8 as held
      from (select id, run from task where ${isOpen}
             order by queued_at limit (select ${tasksMax}::int)) t
     cross join lateral (
        select sum(amount) as amount from credit_hold
         where task_id = t.id and run = t.run and state = 'open') h`.execute(db)
  return rows[0]?.held ?? 0
}
