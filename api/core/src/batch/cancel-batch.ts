import { sql } from 'kysely'
import { settleHolds } from '../credit/hold.ts'
import type { Db } from '../db/database.ts'
import { inTransaction } from '../db/in-transaction.ts'
import { MatteError } from '../error.ts'
import { announceBatch, countEndedChildren } from '../task/batch-progress.ts'
import { type RunEnds, secondsBetween } from '../task/run/ending-metrics.ts'
import { slotCounter } from '../task/task.ts'
import { usageParts } from '../usage/count-usage.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import type { BatchWithTasks } from './batch-queries.ts'
import { batchNotFound, findBatch, listChildren } from './batch-queries.ts'

type Canceled = { readonly id: string; readonly run: number; readonly queued_at: Date; readonly completed_at: Date }

type CanceledBatch = BatchWithTasks & { readonly ends: RunEnds }

/**
 * Cancels the queued children of a batch. The workspace's lock keeps claims away meanwhile. Children that are
 * processing continue.
 * @throws MatteError BATCH_NOT_FOUND, TASK_CANNOT_CANCEL if no child is queued
 */
export async function cancelBatch(db: Db, workspaceId: string, id: string): Promise<CanceledBatch> {
  if ((await findBatch(db, workspaceId, id)) === undefined) throw batchNotFound()
  return inTransaction(db, async (tx) => {
    const workspace = await lockWorkspace(tx, workspaceId)
    if (workspace === undefined) throw batchNotFound()
    await tx.selectFrom('batch').select('id').where('id', '=', id).forNoKeyUpdate().execute()
    const canceled = await cancelQueuedChildren(tx, workspaceId, id)
    if (canceled.length === 0) {
      throw new MatteError('TASK_CANNOT_CANCEL', 'No task of this batch is queued.')
    }
    await freeSlots(tx, { workspaceId, batchId: id, canceled })
    const progress = await countEndedChildren(tx, id, { status: 'canceled', count: canceled.length })
    if (progress === undefined) throw new Error(`batch ${id} counts fewer open children than it has`)
    const runs = canceled.map(({ id: taskId, run }) => ({ taskId, run }))
    const credits = await settleHolds(tx, runs, 'released')
    await announceBatch(tx, progress)
    const seconds = canceled.map(({ queued_at, completed_at }) => secondsBetween(queued_at, completed_at))
    const ends = {
      plan: workspace.plan,
      status: 'canceled',
      reason: null,
      outcome: 'released',
      seconds,
      credits,
    } as const
    return { batch: progress.batch, tasks: await listChildren(tx, id), ends }
  })
}

/** Status, history and usage counter in one statement. */
async function cancelQueuedChildren(tx: Db, workspaceId: string, batchId: string): Promise<Canceled[]> {
  const { rows } = await sql<Canceled>`
    with canceled as (
      update task set status = 'canceled', completed_at = now()
       where batch_id = ${batchId} and status = 'queued'
      returning id, run, queued_at, completed_at, workspace_id, model_version, created_by
    ), event as (
      insert into task_event (task_id, workspace_id, run, type, payload)
      select id, ${workspaceId}::uuid, run, 'canceled', jsonb_build_object('run', run) from canceled order by id
    ), alike as (
      select workspace_id, model_version, created_by, count(*) as canceled from canceled group by 1, 2, 3
    ), ${usageParts({ from: sql`alike`, add: { canceled: sql`canceled` } })}
    select id, run, queued_at, completed_at from canceled order by id`.execute(tx)
  return rows
}

type Freed = { readonly workspaceId: string; readonly batchId: string; readonly canceled: readonly Canceled[] }

async function freeSlots(tx: Db, { workspaceId, batchId, canceled }: Freed): Promise<void> {
  const singles = canceled.filter(({ run }) => slotCounter({ batchId, run }) === 'open_singles').length
  await tx
    .updateTable('workspace')
    .set((eb) => ({
      queued: eb('queued', '-', canceled.length),
      open_singles: eb('open_singles', '-', singles),
      open_children: eb('open_children', '-', canceled.length - singles),
    }))
    .where('id', '=', workspaceId)
    .execute()
}
