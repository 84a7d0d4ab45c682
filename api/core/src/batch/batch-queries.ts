import type { Selectable } from 'kysely'
import type { Db } from '../db/database.ts'
import type { BatchTable } from '../db/tables/batch.ts'
import { MatteError } from '../error.ts'
import { type ShownTask, shownColumns } from '../task/task-queries.ts'

export type BatchRow = Selectable<BatchTable>
export const batchNotFound = (): MatteError => new MatteError('BATCH_NOT_FOUND', 'There is no such batch.')

/** The workspace's own batch. Undefined: unknown or somebody else's, which is one answer. */
export function findBatch(db: Db, workspaceId: string, id: string): Promise<BatchRow | undefined> {
  return db
    .selectFrom('batch')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst()
}

/** The children in the order of the request's `imageUrls`: their ids ascend with it. */
export function listChildren(db: Db, batchId: string): Promise<ShownTask[]> {
  return db.selectFrom('task').select(shownColumns).where('batch_id', '=', batchId).orderBy('id').execute()
}
