import type { Db } from '../db/database.ts'
import type { ShownTask } from '../task/task-queries.ts'
import { type BatchRow, batchNotFound, findBatch, listChildren } from './batch-queries.ts'

export type BatchWithTasks<Task = ShownTask> = { readonly batch: BatchRow; readonly tasks: readonly Task[] }

/**
 * A batch with its children as of one moment, so that the counts and the tasks in an answer agree.
 * @throws MatteError BATCH_NOT_FOUND
 */
export function readBatch(db: Db, workspaceId: string, id: string): Promise<BatchWithTasks> {
  const oneMoment = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only')
  return oneMoment.execute(async (tx) => {
    const batch = await findBatch(tx, workspaceId, id)
    if (batch === undefined) throw batchNotFound()
    return { batch, tasks: await listChildren(tx, id) }
  })
}
