import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { countRows, type ListTotal, limitOf, type PageRequest } from '../db/page.ts'
import type { TaskStatus } from './task.ts'
import { type ShownTask, shownColumns } from './task-queries.ts'

type TaskFilter = {
  readonly workspaceId: string
  readonly status?: TaskStatus | undefined
  /** Created at or after this time. */
  readonly from?: Date | undefined
  /** Created before this time. */
  readonly before?: Date | undefined
  /** Bounds of `confidence`, inclusive. A task without one has none of both. */
  readonly minConfidence?: number | undefined
  readonly maxConfidence?: number | undefined
}

function filtered(db: Db, filter: TaskFilter) {
  const { workspaceId, status, from, before, minConfidence, maxConfidence } = filter
  return (
    db
      .selectFrom('task')
      // Hides the value from the planner, which knows the share of a large workspace and would plan each call again.
      .where('workspace_id', '=', sql<string>`(select ${workspaceId}::uuid)`)
      .$if(status !== undefined, (query) => query.where('status', '=', status as TaskStatus))
      .$if(from !== undefined, (query) => query.where('created_at', '>=', from as Date))
      .$if(before !== undefined, (query) => query.where('created_at', '<', before as Date))
      .$if(minConfidence !== undefined, (query) => query.where('confidence', '>=', minConfidence as number))
      .$if(maxConfidence !== undefined, (query) => query.where('confidence', '<=', maxConfidence as number))
  )
}

/**
 * One page, newest first. `after` (a cursor) is equally fast at any depth; `offset` is not. It skips ids in the index,
 * and reads only the rows of the page from the table.
 */
export function listTasks(db: Db, filter: TaskFilter, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  const skipped = after === undefined && offset > 0
  const ids = filtered(db, filter)
    .select('id')
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limitOf(limit))
    .offset(offset)
  return (skipped ? db.selectFrom('task').where('id', 'in', ids) : filtered(db, filter))
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(created_at, id) < (${at}, ${after?.id}::uuid)`))
    .select(shownColumns)
    .select(sql<string>`(extract(epoch from created_at) * 1000000)::bigint::text`.as('created_at_micros'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limitOf(limit))
    .execute()
}

export function countTasks(db: Db, filter: TaskFilter): Promise<ListTotal> {
  return countRows(db, filtered(db, filter).select('id'))
}

/** The tasks among `ids` that have ended. */
export function findEndedTasks(db: Db, ids: readonly string[]): Promise<ShownTask[]> {
  return db
    .selectFrom('task')
    .select(shownColumns)
    .where(sql<boolean>`id = any(${[...ids]}::uuid[])`)
    .where('completed_at', 'is not', null)
    .execute()
}
