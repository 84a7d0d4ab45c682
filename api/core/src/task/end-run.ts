// The end of a run, in one transaction: places of the workspace, status, history, usage, credit and deliveries.
// Locks are taken in the order workspace → batch → task → lots (D39). The workspace is updated before the task's
// fence is known to hold; when it does not, the transaction is rolled back and nothing has happened.
import { type RawBuilder, sql } from 'kysely'
import { settleHold } from '../credit/hold.ts'
import type { Db } from '../db/database.ts'
import type { Foreground } from '../db/tables/task.ts'
import { createTaskDeliveries } from '../webhook/create-deliveries.ts'
import { announceBatch, countEndedChildren } from './batch-progress.ts'
import { type FailureReason, failureMessages, placeKind } from './task.ts'
import type { TaskRow } from './task-queries.ts'

export type Ending =
  | {
      readonly status: 'succeeded'
      readonly resultKey: string
      readonly resultFormat: string
      readonly resultSizeBytes: number
      readonly width: number
      readonly height: number
      readonly foreground: Foreground | null
    }
  | {
      readonly status: 'failed'
      readonly reason: FailureReason
      /** True once attempts are exhausted: the task goes to the dead-letter stream (D35). */
      readonly deadLetter?: boolean
      readonly width?: number
      readonly height?: number
    }
  | { readonly status: 'canceled' }

export type RunRef = {
  readonly id: string
  readonly workspaceId: string
  readonly batchId: string | null
  readonly run: number
  readonly from: 'queued' | 'processing'
  /** What must still hold of the task's row for the move to be made, beside its status. */
  readonly fence: RawBuilder<boolean>
}

class FenceLost extends Error {}

/** Ends a run once. Undefined: the fence no longer holds, and nothing was changed. */
export async function endRun(db: Db, run: RunRef, ending: Ending): Promise<TaskRow | undefined> {
  try {
    return await db.transaction().execute(async (tx) => {
      const { task, progress } = await lockAndMove(tx, run, ending)
      const credits = await settleHold(
        tx,
        { taskId: task.id, run: task.run },
        ending.status === 'succeeded' ? 'captured' : 'released',
      )
      await recordEnd(tx, task, ending, ending.status === 'succeeded' ? credits : 0)
      await announce(tx, task, ending)
      await announceBatch(tx, progress)
      return task
    })
  } catch (error) {
    if (error instanceof FenceLost) return undefined
    throw error
  }
}

/** Workspace, batch, task, in the order of their locks. */
async function lockAndMove(tx: Db, run: RunRef, ending: Ending) {
  if (!(await freePlace(tx, run))) throw new FenceLost()
  const progress = run.batchId === null ? null : await countEndedChildren(tx, run.batchId, ending.status)
  const task = progress === undefined ? undefined : await moveTask(tx, run, ending)
  if (task === undefined) throw new FenceLost()
  return { task, progress: progress ?? undefined }
}

/** Undefined: the workspace has no such place taken, so the task has moved on, and a count below zero is no matter. */
function freePlace(tx: Db, { workspaceId, from, ...run }: RunRef): Promise<{ id: string } | undefined> {
  const kind = placeKind(run)
  return tx
    .updateTable('workspace')
    .set((eb) => ({ [kind]: eb(kind, '-', 1), [from]: eb(from, '-', 1) }))
    .where('id', '=', workspaceId)
    .where(kind, '>', 0)
    .where(from, '>', 0)
    .returning('id')
    .executeTakeFirst()
}

function moveTask(tx: Db, { id, from, fence }: RunRef, ending: Ending): Promise<TaskRow | undefined> {
  return tx
    .updateTable('task')
    .set({
      status: ending.status,
      completed_at: sql<Date>`now()`,
      claim: null,
      claimed_until: null,
      ...(ending.status === 'succeeded' && {
        result_key: ending.resultKey,
        result_format: ending.resultFormat,
        result_size_bytes: ending.resultSizeBytes,
        foreground: ending.foreground && JSON.stringify(ending.foreground),
      }),
      ...(ending.status === 'failed' && {
        failure_reason: ending.reason,
        failure_message: failureMessages[ending.reason],
        dead_letter: ending.deadLetter ? ('due' as const) : null,
      }),
      ...(ending.status !== 'canceled' && { width: ending.width ?? null, height: ending.height ?? null }),
    })
    .where('id', '=', id)
    .where('status', '=', from)
    .where(fence)
    .returningAll()
    .executeTakeFirst()
}

/** History and the day's counters in one statement. */
async function recordEnd(tx: Db, task: TaskRow, ending: Ending, credits: number): Promise<void> {
  const payload = JSON.stringify({
    run: task.run,
    ...(task.attempt > 0 && { attempt: task.attempt }),
    ...(ending.status === 'failed' && { reason: ending.reason, message: failureMessages[ending.reason] }),
  })
  const dead = ending.status === 'failed' && ending.deadLetter === true
  const count = (status: Ending['status']): number => (ending.status === status ? 1 : 0)
  await sql`
    with event as (
      insert into task_event (task_id, run, type, payload)
      select ${task.id}::uuid, ${task.run}::int, type, ${payload}::jsonb
        from unnest(${dead ? ['failed', 'dead_letter'] : [ending.status]}::text[]) with ordinality as e (type, n)
       order by n
    ), ended as (
      select workspace_id, (extract(epoch from completed_at - created_at) * 1000)::bigint as latency_ms
        from task where id = ${task.id}
    )
    insert into usage_day as u (workspace_id, day, succeeded, failed, canceled, credits, latency_ms)
    select workspace_id, (now() at time zone 'utc')::date, ${count('succeeded')}::int, ${count('failed')}::int,
           ${count('canceled')}::int, ${credits}::int, ${count('succeeded')}::int * latency_ms
      from ended
    on conflict (workspace_id, day) do update set
      succeeded = u.succeeded + excluded.succeeded, failed = u.failed + excluded.failed,
      canceled = u.canceled + excluded.canceled, credits = u.credits + excluded.credits,
      latency_ms = u.latency_ms + excluded.latency_ms`.execute(tx)
}

async function announce(tx: Db, task: TaskRow, ending: Ending): Promise<void> {
  if (ending.status === 'canceled') return
  const common = {
    taskId: task.id,
    workspaceId: task.workspace_id,
    run: task.run,
    callbackUrl: task.callback_url,
    traceparent: task.traceparent,
  }
  if (ending.status === 'succeeded') {
    await createTaskDeliveries(tx, { ...common, event: 'task.succeeded', message: 'The cut-out is ready.' })
  } else {
    const message = failureMessages[ending.reason]
    await createTaskDeliveries(tx, { ...common, event: 'task.failed', reason: ending.reason, message })
  }
}
