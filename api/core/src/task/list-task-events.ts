import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Event types in the history of a task. */
export const eventTypes = [
  ...['queued', 'processing', 'attempt_failed', 'succeeded', 'failed', 'canceled'],
  ...['retried', 'dead_letter', 'dead_lettered'],
] as const

export type TaskEvent = {
  readonly id: number
  readonly type: string
  /** Run, attempt, reason and message, as far as they apply. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly at: Date
  /** From the first claim of the run to its success; null for other events. */
  readonly durationMs: number | null
}

/** Columns of event `e`. Times are truncated to milliseconds, the precision of the API. */
export const eventColumns = (): RawBuilder<unknown> => sql`e.id, e.type, e.payload, e.at,
           case when e.type = 'succeeded' then (extract(epoch from date_trunc('milliseconds', e.at) - (
             select date_trunc('milliseconds', min(p.at)) from task_event p
              where p.task_id = e.task_id and p.run = e.run and p.type = 'processing')) * 1000)::bigint
            end as "durationMs"`

type HistoryOf = { readonly workspaceId: string; readonly taskId: string; readonly runs: 'current' | 'all' }

/** Events of a task, oldest first; empty if this workspace has no such task. */
export async function listTaskEvents(db: Db, { workspaceId, taskId, runs }: HistoryOf): Promise<TaskEvent[]> {
  const { rows } = await sql<TaskEvent>`
    select ${eventColumns()}
      from task t join task_event e on e.task_id = t.id
     where t.id = ${taskId} and t.workspace_id = ${workspaceId} and (${runs === 'all'}::boolean or e.run = t.run)
     order by e.id`.execute(db)
  return rows
}
