import { CompiledQuery, type Selectable } from 'kysely'
import type { Db } from '../db/database.ts'
import type { TaskTable } from '../db/tables/task.ts'
import { MatteError } from '../error.ts'

export type TaskRow = Selectable<TaskTable>

/** Columns of an API response. Reading fewer columns saves time in the driver. */
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
  'confidence',
  'charge',
  'retention_seconds',
  'erased_at',
  'created_at',
] as const satisfies (keyof TaskRow)[]

export type ShownTask = Pick<TaskRow, (typeof shownColumns)[number]>

const findShownText = `select ${shownColumns.join(', ')} from task where id = $1 and workspace_id = $2`

/** `findTask` for a response. Its text is built once, because clients poll with it. */
export async function findShownTask(db: Db, workspaceId: string, id: string): Promise<ShownTask | undefined> {
  const { rows } = await db.executeQuery<ShownTask>(CompiledQuery.raw(findShownText, [id, workspaceId]))
  return rows[0]
}

/** The task, if this workspace owns it; undefined otherwise. */
export function findTask(db: Db, workspaceId: string, id: string): Promise<TaskRow | undefined> {
  return db
    .selectFrom('task')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

/** Null: no result yet, an erased one, or none because the task was not charged (A256). */
export const shownResultKey = (task: Pick<TaskRow, 'result_key' | 'erased_at' | 'charge'>): string | null =>
  task.erased_at === null && task.charge !== 'none' ? task.result_key : null

export const taskNotFound = (): MatteError => new MatteError('TASK_NOT_FOUND', 'There is no such task.')
