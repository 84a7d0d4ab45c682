import { CompiledQuery, type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { countRows, type ListTotal, type PageRequest } from '../db/page.ts'
import type { TaskTable } from '../db/tables/task.ts'
import type { TaskStatus } from './task.ts'

export type TaskRow = Selectable<TaskTable>

/** What the answers about a task are made of. Reads fetch no more: the driver's work grows with the columns. */
export const shownColumns = [
  'id',
  'batch_id',
  'status',
  'model_version',
  'source_key',
  'callback_url',
  'credit_cost',
  'retry_count',
  'started_at',
  'completed_at',
  'failure_reason',
  'failure_message',
  'result_key',
  'result_format',
  'width',
  'height',
  'foreground',
  'created_at',
] as const satisfies (keyof TaskRow)[]

export type ShownTask = Pick<TaskRow, (typeof shownColumns)[number]>

const findShownText = `select ${shownColumns.join(', ')} from task where id = $1 and workspace_id = $2`

/** `findTask` for an answer. Its text is made once: it is the statement that polling callers ask for all day. */
export async function findShownTask(db: Db, workspaceId: string, id: string): Promise<ShownTask | undefined> {
  const { rows } = await db.executeQuery<ShownTask>(CompiledQuery.raw(findShownText, [id, workspaceId]))
  return rows[0]
}

/** The workspace's own task. Undefined: unknown or somebody else's, which is one answer. */
export function findTask(db: Db, workspaceId: string, id: string): Promise<TaskRow | undefined> {
  return db
    .selectFrom('task')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

/** Those of the tasks that have ended, and stay so unless a caller retries them. */
export function findEndedTasks(db: Db, ids: readonly string[]): Promise<ShownTask[]> {
  return db
    .selectFrom('task')
    .select(shownColumns)
    .where(sql<boolean>`id = any(${[...ids]}::uuid[])`)
    .where('completed_at', 'is not', null)
    .execute()
}

type TaskFilter = {
  readonly workspaceId: string
  readonly status?: TaskStatus | undefined
  /** Created at or after this time. */
  readonly from?: Date | undefined
  /** Created before this time. */
  readonly before?: Date | undefined
}

function filtered(db: Db, { workspaceId, status, from, before }: TaskFilter) {
  return db
    .selectFrom('task')
    .where('workspace_id', '=', workspaceId)
    .$if(status !== undefined, (query) => query.where('status', '=', status as TaskStatus))
    .$if(from !== undefined, (query) => query.where('created_at', '>=', from as Date))
    .$if(before !== undefined, (query) => query.where('created_at', '<', before as Date))
}

/** One page, newest first; `after` (a cursor) is equally fast at any depth, `offset` is not. */
export function listTasks(db: Db, filter: TaskFilter, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return filtered(db, filter)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(created_at, id) < (${at}, ${after?.id}::uuid)`))
    .select(shownColumns)
    .select(sql<string>`(extract(epoch from created_at) * 1000000)::bigint::text`.as('created_at_micros'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(after === undefined ? offset : 0)
    .execute()
}

export function countTasks(db: Db, filter: TaskFilter): Promise<ListTotal> {
  return countRows(db, filtered(db, filter).select('id'))
}

/** Makes the next `attempts` attempts of an unfinished task fail (D53). Undefined: no such task, or it has ended. */
export function setFaultAttempts(db: Db, id: string, attempts: number) {
  return db
    .updateTable('task')
    .set({ fault_attempts: attempts })
    .where('id', '=', id)
    .where('status', 'in', ['queued', 'processing'])
    .returning(['id', 'status'])
    .executeTakeFirst()
}
