import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/**
 * Adds requests to today's (UTC) counters. Writes rows in id order to prevent deadlocks between processes, and commits
 * without waiting for the disk, so creations in the same workspace wait for milliseconds at most.
 */
export async function addRequests(db: Db, requests: ReadonlyMap<string, number>): Promise<void> {
  const ids = [...requests.keys()].sort()
  const counts = ids.map((id) => requests.get(id) ?? 0)
  await db.transaction().execute(async (tx) => {
    await sql`set local synchronous_commit = off`.execute(tx)
    await sql`
      insert into usage_day as u (workspace_id, day, api_requests)
      select w.id, (now() at time zone 'utc')::date, asked.requests
        from unnest(${ids}::uuid[], ${counts}::bigint[]) as asked (id, requests)
        join workspace w on w.id = asked.id
       order by w.id
      on conflict (workspace_id, day) do update set api_requests = u.api_requests + excluded.api_requests`.execute(tx)
  })
}
