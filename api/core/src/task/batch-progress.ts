// Counts of a batch, changed in the transaction that ends or retries one of its children (D52). The batch's row is
// locked before the child's (lock order: workspace, batch, task, lots), so exactly one of two concurrent endings
// completes the batch.
import { type Selectable, sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { BatchTable } from '../db/tables/task.ts'
import { createEventDeliveries } from '../webhook/create-deliveries.ts'
import { batchFields } from '../webhook/event-fields.ts'

type Batch = Selectable<BatchTable>
type EndedChildren = { readonly status: 'succeeded' | 'failed' | 'canceled'; readonly count: number }

/** `completedNow`: this child completed the batch for the first time. */
type BatchProgress = { readonly batch: Batch; readonly completedNow: boolean }

/**
 * Counts children that end with this status, and completes the batch with the last one. Undefined: the batch has fewer
 * open children, so these have already moved on.
 */
export async function countEndedChildren(
  tx: Db,
  batchId: string,
  { status, count: ended }: EndedChildren,
): Promise<BatchProgress | undefined> {
  const count = sql.ref(`${status}_count`)
  const terminal = sql`b.succeeded_count + b.failed_count + b.canceled_count + ${ended}::int`
  const { rows } = await sql<Batch & { completedNow: boolean }>`
    with before as materialized (select id, status from batch where id = ${batchId} for no key update)
    update batch b
       set ${count} = b.${count} + ${ended}::int,
           status = case when ${terminal} = b.total_count
                         then 'completed' else b.status end,
           completed_at = case when ${terminal} = b.total_count
                               then coalesce(b.completed_at, now()) else b.completed_at end
      from before
     where b.id = before.id and ${terminal} <= b.total_count
    returning b.*, (b.status = 'completed' and before.status = 'processing') as "completedNow"`.execute(tx)
  const [row] = rows
  if (row === undefined) return undefined
  const { completedNow, ...batch } = row
  return { batch, completedNow }
}

/** Counts a failed child as queued again. Undefined: the batch has no failed child. */
export function reopenFailedChild(tx: Db, batchId: string): Promise<{ id: string } | undefined> {
  return tx
    .updateTable('batch')
    .set((eb) => ({ failed_count: eb('failed_count', '-', 1) }))
    .where('id', '=', batchId)
    .where('failed_count', '>', 0)
    .returning('id')
    .executeTakeFirst()
}

/** Publishes `batch.completed` once, and notifies the member who created the batch in the App. */
export async function announceBatch(tx: Db, progress: BatchProgress | undefined): Promise<void> {
  if (!progress?.completedNow) return
  const { id, workspace_id: workspaceId, callback_url: callbackUrl, traceparent, ...batch } = progress.batch
  const event = 'batch.completed'
  const fields = batchFields({ batchId: id, totalCount: batch.total_count, successCount: batch.succeeded_count })
  const body = JSON.stringify({ event, ...fields })
  await createEventDeliveries(tx, { workspaceId, event, body, callbackUrl, traceparent, of: { key: id, batchId: id } })
  if (!batch.notify_maker || batch.created_by === null) return
  const due = { event, event_key: id, workspace_id: workspaceId, user_id: batch.created_by }
  await tx
    .insertInto('notification_due')
    .values({ ...due, fields: JSON.stringify(fields) })
    .onConflict((conflict) => conflict.columns(['event', 'event_key', 'workspace_id']).doNothing())
    .execute()
}
