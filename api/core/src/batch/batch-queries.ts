import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { countRows, type ListTotal, limitOf, offsetOf, type PageRequest } from '../db/page.ts'
import type { BatchTable } from '../db/tables/task.ts'
import { MatteError } from '../error.ts'
import { type ShownTask, shownColumns } from '../task/task-queries.ts'

export type BatchRow = Selectable<BatchTable>
export const batchNotFound = (): MatteError => new MatteError('BATCH_NOT_FOUND', 'There is no such batch.')

/** The batch, if this workspace owns it; undefined otherwise. */
export function findBatch(db: Db, workspaceId: string, id: string): Promise<BatchRow | undefined> {
  return db
    .selectFrom('batch')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

/** Children in the order of `imageUrls`: their ids ascend with it. */
export function listChildren(db: Db, batchId: string): Promise<ShownTask[]> {
  return db.selectFrom('task').select(shownColumns).where('batch_id', '=', batchId).orderBy('id').execute()
}

export type BatchWithTasks<Task = ShownTask> = { readonly batch: BatchRow; readonly tasks: readonly Task[] }

/** A batch with its children from one snapshot, so counts and tasks agree. @throws MatteError BATCH_NOT_FOUND */
export function readBatch(db: Db, workspaceId: string, id: string): Promise<BatchWithTasks> {
  const snapshot = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return snapshot.execute(async (tx) => {
    const batch = await findBatch(tx, workspaceId, id)
    if (batch === undefined) throw batchNotFound()
    return { batch, tasks: await listChildren(tx, id) }
  })
}

/** One page, newest first. `after` (a cursor) is equally fast at any depth; `offset` is not. */
export function listBatches(db: Db, workspaceId: string, { limit, offset, after }: PageRequest) {
  const at = sql<Date>`to_timestamp(0) + ${after?.createdAtMicros ?? '0'}::bigint * interval '1 microsecond'`
  return db
    .selectFrom('batch')
    .where('workspace_id', '=', workspaceId)
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(created_at, id) < (${at}, ${after?.id}::uuid)`))
    .selectAll()
    .select(sql<string>`(extract(epoch from created_at) * 1000000)::bigint::text`.as('created_at_micros'))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limitOf(limit))
    .offset(offsetOf(offset, after))
    .execute()
}

export function countBatches(db: Db, workspaceId: string): Promise<ListTotal> {
  return countRows(db, db.selectFrom('batch').select('id').where('workspace_id', '=', workspaceId))
}
