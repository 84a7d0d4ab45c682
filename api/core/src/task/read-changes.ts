import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { eventColumns, type TaskEvent } from './list-task-events.ts'

export type TaskChange = TaskEvent & { readonly taskId: string; readonly batchId: string | null }

/** Position in the history of a workspace: after the event with this id. */
type Place = { readonly workspaceId: string; readonly after: number }

/**
 * Events after each place, oldest first, at most `limit` each, in one statement. Every writer of history holds the lock
 * of its workspace until the commit, so no event with a smaller id appears later.
 */
export async function readChanges(db: Db, places: readonly Place[], limit: number): Promise<TaskChange[][]> {
  const { rows } = await sql<TaskChange & { readonly place: number }>`
    select (p.n - 1)::int as place, e.task_id as "taskId", t.batch_id as "batchId", ${eventColumns()}
      from unnest(${places.map(({ workspaceId }) => workspaceId)}::uuid[],
                  ${places.map(({ after }) => after)}::bigint[]) with ordinality as p (workspace_id, after, n)
     cross join lateral (
       select * from task_event where workspace_id = p.workspace_id and id > p.after order by id limit ${limit}
     ) e
      join task t on t.id = e.task_id
     order by p.n, e.id`.execute(db)
  const found: TaskChange[][] = places.map(() => [])
  for (const { place, ...change } of rows) found[place]?.push(change)
  return found
}

/** Id of the last event in the workspace's history, or 0. */
export async function readLastEventId(db: Db, workspaceId: string): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select id from task_event where workspace_id = ${workspaceId} order by id desc limit 1`.execute(db)
  return rows[0]?.id ?? 0
}
