import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { findTask, type TaskRow, taskNotFound } from '../task-queries.ts'
import { type EndedTask, endRun } from './end-run.ts'

/**
 * Cancels a task that is still queued.
 * @throws MatteError TASK_NOT_FOUND, TASK_CANNOT_CANCEL
 */
export async function cancelTask(db: Db, workspaceId: string, id: string): Promise<EndedTask> {
  const task = await findTask(db, workspaceId, id)
  if (task === undefined) throw taskNotFound()
  const canceled =
    task.status === 'queued'
      ? await endRun(
          db,
          {
            id,
            workspaceId,
            batchId: task.batch_id,
            run: task.run,
            callbackUrl: task.callback_url,
            traceparent: task.traceparent,
            from: 'queued',
            fence: sql<boolean>`run = ${task.run}`,
          },
          { status: 'canceled' },
        )
      : undefined
  if (canceled === undefined) throw cannotCancel((await findTask(db, workspaceId, id)) ?? task)
  return canceled
}

const cannotCancel = ({ status }: TaskRow): MatteError =>
  new MatteError('TASK_CANNOT_CANCEL', 'Only a queued task can be canceled; this one is no longer queued.', {
    details: { status },
  })
