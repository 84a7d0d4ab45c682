import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { type Doomed, scheduleDeletions } from '../retention/schedule-deletion.ts'
import { keyWithoutFileName, resultPrefix } from '../storage/object-key.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { findTask, type TaskRow, taskNotFound } from './task-queries.ts'

/** Named in an error; a photo seldom serves more tasks at once. */
const namedTasksMax = 10

/**
 * Erases photo, result and previews of an ended task: schedules their deletion and removes the file name. Other ended
 * tasks on the same photo lose it too and keep their results. Erasing again changes nothing.
 * The workspace's lock keeps creations and retries from using the photo meanwhile.
 * @throws MatteError TASK_NOT_FOUND; CONFLICT: this task, or another one that uses the photo, has not ended
 */
export async function eraseImages(tx: Db, workspaceId: string, id: string): Promise<TaskRow> {
  await lockWorkspace(tx, workspaceId)
  const task = await findTask(tx, workspaceId, id)
  if (task === undefined) throw taskNotFound()
  if (task.erased_at !== null) return task
  await refuseOpen(tx, task)
  await scheduleDeletions(tx, [...doomedResults(task), ...(await releasePhoto(tx, task))])
  // The name of the background is in `door`.
  const { rows } = await sql<TaskRow>`
    update task set erased_at = now(), door = null where id = ${id} returning *`.execute(tx)
  return rows[0] ?? task
}

async function refuseOpen(tx: Db, { id, upload_id, status }: TaskRow): Promise<void> {
  const open = await tx
    .selectFrom('task')
    .select(['id', 'status'])
    .where('upload_id', '=', upload_id)
    .where('completed_at', 'is', null)
    .limit(namedTasksMax)
    .execute()
  if (open.some((other) => other.id === id)) {
    const advice = status === 'queued' ? 'Cancel it first' : 'Wait for its end'
    throw new MatteError('CONFLICT', `The task is ${status}. ${advice}, then erase its images.`, {
      details: { status },
    })
  }
  if (open.length === 0) return
  throw new MatteError('CONFLICT', 'Another task still uses the photo. Cancel it or wait for its end, then erase.', {
    details: { taskIds: open.map((other) => other.id) },
  })
}

/** The prefix includes previews, the ZIP of a door, and results that crashed workers did not record. */
function doomedResults(task: TaskRow): Doomed[] {
  const prefix = resultPrefix({ id: task.id, createdAt: task.created_at })
  const { result_key: key } = task
  const keys = key === null || key.startsWith(prefix) ? [prefix] : [prefix, key]
  return keys.map((each) => ({ key: each, inDays: 0 }))
}

/** The photo, and the background if its door left it behind. Removes the file name from the history. */
async function releasePhoto(tx: Db, { upload_id, source_key, door }: TaskRow): Promise<Doomed[]> {
  const background = door?.kind === 'background' ? door.objectKey : null
  const { rows } = await sql<{ key: string; writableUntil: Date }>`
    update upload set deleted_at = coalesce(deleted_at, now())
     where id = ${upload_id} or (object_key = ${background}::text and used_at is null)
    returning object_key as key, expires_at as "writableUntil"`.execute(tx)
  await sql`update task set source_key = ${keyWithoutFileName(source_key)} where upload_id = ${upload_id}`.execute(tx)
  return rows.map((row) => ({ ...row, inDays: 0 }))
}
