import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/**
 * Adds requests to today's (UTC) counters of several workspaces. In the order of their ids, since two processes that
 * meet on the same rows would else wait for each other; committed without waiting for the disk, so that a creation of
 * the same workspace waits for milliseconds at most.
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
