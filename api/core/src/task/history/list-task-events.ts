// What happened to a task (D35).
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../db/database.ts'

/** What the history of a task can say (D35). */
export const eventTypes = [
  ...['queued', 'processing', 'attempt_failed', 'succeeded', 'failed', 'canceled'],
  ...['retried', 'dead_letter', 'dead_lettered'],
] as const

export type TaskEvent = {
  readonly id: number
  readonly type: string
  /** What the event knows of itself: run, attempt, reason, message. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly at: Date
  /** Claim to completion, as the task's own; null where it does not apply. */
  readonly durationMs: number | null
}

/** Columns of the event `e`. Times are cut to the milliseconds in which answers state them, so that all agree. */
export const eventColumns = (): RawBuilder<unknown> => sql`e.id, e.type, e.payload, e.at,
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
