// What happened to a task (D35), and to the tasks of a workspace in the order in which it came true.
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/database.ts'

export type TaskEvent = {
  readonly id: number
  readonly type: string
  /** What the event knows of itself: run, attempt, reason, message. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly at: Date
  /** Claim to completion, as the task's own; null where it does not apply. */
  readonly durationMs: number | null
}

export type TaskChange = TaskEvent & { readonly taskId: string; readonly batchId: string | null }

/** Columns of the event `e`. Times are cut to the milliseconds in which answers state them, so that all agree. */
const eventColumns = (): RawBuilder<unknown> => sql`e.id, e.type, e.payload, e.at,
           case when e.type = 'succeeded' then (extract(epoch from date_trunc('milliseconds', e.at) - (
             select date_trunc('milliseconds', min(p.at)) from task_event p
              where p.task_id = e.task_id and p.run = e.run and p.type = 'processing')) * 1000)::bigint
            end as "durationMs"`

type HistoryOf = { readonly workspaceId: string; readonly taskId: string; readonly runs: 'current' | 'all' }

/** Oldest first; a few for each run. None: no such task of this workspace. */
export async function listTaskEvents(db: Db, { workspaceId, taskId, runs }: HistoryOf): Promise<TaskEvent[]> {
  const { rows } = await sql<TaskEvent>`
    select ${eventColumns()}
      from task t join task_event e on e.task_id = t.id
     where t.id = ${taskId} and t.workspace_id = ${workspaceId} and (${runs === 'all'}::boolean or e.run = t.run)
     order by e.id`.execute(db)
  return rows
}

/** Where somebody is in the history of a workspace: behind the event with this id. */
export type Place = { readonly workspaceId: string; readonly after: number }

/**
 * What follows each place, oldest first, at most `limit` each: all in one statement, whose price goes by the number of
 * places. Nothing is skipped and nothing comes later: see A83 for why no event with a smaller id can still appear.
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

/** The last event of the workspace's history; 0 while it has none. */
export async function readLastEventId(db: Db, workspaceId: string): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select id from task_event where workspace_id = ${workspaceId} order by id desc limit 1`.execute(db)
  return rows[0]?.id ?? 0
}
