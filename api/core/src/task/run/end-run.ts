// The end of a run, in one statement: the concurrency slot, status, history, usage, credit and deliveries, whole or
// not at all. As eight statements of a transaction it took the database 1.8 ms of CPU more, a quarter of what it does
// for a task. Locks are taken in the order workspace → batch → task → lots (D39): each part reads the one before it,
// and a part is run when it is first read. Rows that others changed while a lock was waited for are judged, and counted
// on, as they are then.
import { type RawBuilder, sql } from 'kysely'
import { settleParts } from '../../credit/hold.ts'
import type { Db } from '../../db/database.ts'
import { isDeadlock } from '../../db/fail-fast-pool.ts'
import type { Foreground } from '../../db/tables/task.ts'
import { insertDeliveries, toDeliveries } from '../../webhook/create-deliveries.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { announceBatch, countEndedChildren } from '../batch-progress.ts'
import { type FailureReason, failureMessages } from '../failure.ts'
import { slotCounter } from '../task.ts'
import type { TaskRow } from '../task-queries.ts'
import { type RunEnds, secondsBetween } from './ending-metrics.ts'

type Succeeded = {
  readonly status: 'succeeded'
  readonly resultKey: string
  readonly resultFormat: string
  readonly resultSizeBytes: number
  readonly width: number
  readonly height: number
  readonly foreground: Foreground | null
}

type Failed = {
  readonly status: 'failed'
  readonly reason: FailureReason
  /** True once attempts are exhausted: the task goes to the dead-letter stream (D35). */
  readonly deadLetter?: boolean
  readonly width?: number
  readonly height?: number
}

/** What may end a run, by the status that the run leaves (D34); any other move does not compile. */
export type EndingFrom = {
  readonly queued: Failed | { readonly status: 'canceled' }
  readonly processing: Succeeded | Failed
}

type Ending = EndingFrom[keyof EndingFrom]

type RunRef<From extends keyof EndingFrom = keyof EndingFrom> = {
  readonly id: string
  readonly workspaceId: string
  readonly batchId: string | null
  readonly run: number
  readonly callbackUrl: string | null
  readonly traceparent: string | null
  readonly from: From
  /** What must still hold of the task's row for the move to be made, beside its status. */
  readonly fence: RawBuilder<boolean>
}

/** The task as it is now. */
export type EndedTask = TaskRow & {
  /** Rows that the dispatcher has to be nudged for, the batch's own left out. */
  readonly deliveries: number
  /** For the metrics. */
  readonly ends: RunEnds
}

type EndedRow = TaskRow & { readonly deliveries: number; readonly plan: string; readonly credits: number }

class FenceLost extends Error {}

/** Ends a run once. Undefined: the fence no longer holds, and nothing was changed. */
export async function endRun<From extends keyof EndingFrom>(
  db: Db,
  run: RunRef<From>,
  ending: EndingFrom[From],
): Promise<EndedTask | undefined> {
  const { batchId } = run
  if (batchId === null) return moveAll(db, run, ending) // one statement, which the pool repeats after a deadlock
  const end = (): Promise<EndedTask | undefined> => endChild(db, { ...run, batchId }, ending)
  return end().catch((error: unknown) => (isDeadlock(error) ? end() : Promise.reject(error)))
}

async function endChild(
  db: Db,
  run: RunRef & { readonly batchId: string },
  ending: Ending,
): Promise<EndedTask | undefined> {
  const { batchId } = run
  try {
    return await db.transaction().execute(async (tx) => {
      await lockWorkspace(tx, run.workspaceId)
      // Before the fence is known to hold: when it does not, all is rolled back.
      const progress = await countEndedChildren(tx, batchId, { status: ending.status, count: 1 })
      const task = progress && (await moveAll(tx, run, ending))
      if (task === undefined) throw new FenceLost()
      await announceBatch(tx, progress)
      return task
    })
  } catch (error) {
    if (error instanceof FenceLost) return undefined
    throw error
  }
}

/**
 * `slot`: locks the workspace. Where it counts no such slot the task has moved on, so the counts never go below zero.
 * `moved`: the fence. No part after it writes anything when it does not hold.
 */
async function moveAll(db: Db, run: RunRef, ending: Ending): Promise<EndedTask | undefined> {
  const { id, workspaceId, from, fence } = run
  const [counter, status] = [sql.ref(slotCounter(run)), sql.ref(from)]
  const credit = settleParts({
    runs: sql`(select id as task_id, run from moved)`,
    outcome: ending.status === 'succeeded' ? 'captured' : 'released',
    at: sql`(select at from moment)`,
  })
  const { rows } = await sql<EndedRow>`
    with slot as materialized (
      select id, plan
        from workspace where id = ${workspaceId} and ${counter} > 0 and ${status} > 0 for no key update
    ), moved as (
      update task set ${endingColumns(ending)}
       where id = ${id} and status = ${from} and ${fence} and exists (select from slot)
      returning *
    ), freed as (
      update workspace set ${counter} = ${counter} - 1, ${status} = ${status} - 1
       where id = (select workspace_id from moved)
    ), moment as materialized (
      -- Not the statement's time: it may have begun before a lot's expiry, and waited for a sweep that came after.
      select clock_timestamp() as at from moved
    ), ${credit}, ${recordParts(ending)}, delivery as (${deliveryPart(run, ending)})
    select *, (select count(*) from delivery) as deliveries, (select plan from slot) as plan,
           (select coalesce(sum(amount), 0) from hold) as credits
      from moved`.execute(db)
  return rows[0] && { ...rows[0], ends: endsOf(rows[0], ending) }
}

function endsOf({ plan, credits, queued_at, completed_at }: EndedRow, ending: Ending): RunEnds {
  return {
    plan,
    status: ending.status,
    reason: ending.status === 'failed' ? ending.reason : null,
    seconds: [secondsBetween(queued_at, completed_at ?? queued_at)],
    credits,
  }
}

function endingColumns(ending: Ending): RawBuilder<unknown> {
  const ended = sql`status = ${ending.status}, completed_at = now(), claim = null, claimed_until = null`
  if (ending.status === 'canceled') return ended
  const size = sql`width = ${ending.width ?? null}::int, height = ${ending.height ?? null}::int`
  if (ending.status === 'failed') {
    const message = failureMessages[ending.reason]
    return sql`${ended}, ${size}, failure_reason = ${ending.reason}, failure_message = ${message},
               dead_letter = ${ending.deadLetter ? 'due' : null}`
  }
  const foreground = ending.foreground && JSON.stringify(ending.foreground)
  return sql`${ended}, ${size}, result_key = ${ending.resultKey}, result_format = ${ending.resultFormat},
             result_size_bytes = ${ending.resultSizeBytes}, foreground = ${foreground}::jsonb`
}

/** History and the day's counters. */
function recordParts(ending: Ending): RawBuilder<unknown> {
  const failed = ending.status === 'failed'
  const details = JSON.stringify(failed ? { reason: ending.reason, message: failureMessages[ending.reason] } : {})
  const events = failed && ending.deadLetter === true ? ['failed', 'dead_letter'] : [ending.status]
  const count = (status: Ending['status']): number => (ending.status === status ? 1 : 0)
  return sql`event as (
      insert into task_event (task_id, workspace_id, run, type, payload, for_user)
      select id, workspace_id, run, type, jsonb_build_object('run', run)
             || case when attempt > 0 then jsonb_build_object('attempt', attempt) else '{}' end || ${details}::jsonb,
             -- Of a batch's children nobody is told one by one.
             case when notify_maker and batch_id is null and type in ('succeeded', 'failed') then created_by end
        from moved, unnest(${events}::text[]) with ordinality as e (type, n)
       order by n
    ), usage as (
      insert into usage_day as u (workspace_id, day, succeeded, failed, canceled, credits, latency_ms)
      select workspace_id, (now() at time zone 'utc')::date, ${count('succeeded')}::int, ${count('failed')}::int,
             ${count('canceled')}::int, ${count('succeeded')}::int * (select coalesce(sum(amount), 0) from hold),
             ${count('succeeded')}::int * (extract(epoch from completed_at - created_at) * 1000)::bigint
        from moved
      on conflict (workspace_id, day) do update set
        succeeded = u.succeeded + excluded.succeeded, failed = u.failed + excluded.failed,
        canceled = u.canceled + excluded.canceled, credits = u.credits + excluded.credits,
        latency_ms = u.latency_ms + excluded.latency_ms
    )`
}

/** Rows of one column for each delivery. A cancel has none. */
function deliveryPart({ id: taskId, ...run }: RunRef, ending: Ending): RawBuilder<unknown> {
  if (ending.status === 'canceled') return sql`select id from moved where false`
  const common = { ...run, taskId }
  const deliveries =
    ending.status === 'succeeded'
      ? toDeliveries({ ...common, event: 'task.succeeded', message: 'The cut-out is ready.' })
      : toDeliveries({
          ...common,
          event: 'task.failed',
          reason: ending.reason,
          message: failureMessages[ending.reason],
        })
  return sql`${insertDeliveries(deliveries, sql`exists (select from moved)`)} returning id`
}
