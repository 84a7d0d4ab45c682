// Ends a run in one statement: slot, status, history, usage, credit and deliveries, all or nothing. Eight statements
// took 1.8 ms more database CPU, a quarter of all work for a task. Locks are taken in the order workspace, batch, task,
// lots (D39), because each part reads the one before it.
import { type RawBuilder, sql } from 'kysely'
import { settleParts } from '../../credit/hold.ts'
import type { Db } from '../../db/database.ts'
import { isDeadlock } from '../../db/fail-fast-pool.ts'
import { inTransaction } from '../../db/in-transaction.ts'
import type { Foreground } from '../../db/tables/task.ts'
import { usageParts } from '../../usage/count-usage.ts'
import { insertDeliveries, toDeliveries } from '../../webhook/create-deliveries.ts'
import { keepForStream } from '../../webhook/stream/keep-event.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { type AttemptWork, workPayload } from '../attempt-work.ts'
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
  /** 0 to 1 in steps of 0.01; absent if the model gives no measure. */
  readonly confidence?: number | undefined
  /** Releases the credit, because the task pays for a subject only and has none. */
  readonly isFree?: boolean
  readonly work?: AttemptWork | undefined
}

type Failed = {
  readonly status: 'failed'
  readonly reason: FailureReason
  /** All attempts failed: the task goes to the dead-letter stream. */
  readonly deadLetter?: boolean
  /** Absent if a sweep ends the run. */
  readonly work?: AttemptWork | undefined
  readonly width?: number
  readonly height?: number
}

/** Endings by the status that the run leaves (D34); others do not compile. */
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
  /** Condition on the task's row in addition to its status. */
  readonly fence: RawBuilder<boolean>
}

export type EndedTask = TaskRow & {
  /** Deliveries to nudge the dispatcher for, without those of the batch. */
  readonly deliveries: number
  /** Whether the workspace had tasks in `queued`, which may have waited for its limit. */
  readonly othersWait: boolean
  /** For metrics. */
  readonly ends: RunEnds
}

type EndedRow = Omit<EndedTask, 'ends'> & { readonly plan: string; readonly credits: number }

class FenceLost extends Error {}

/** Ends a run once. Undefined: the fence failed, and nothing changed. */
export async function endRun<From extends keyof EndingFrom>(
  db: Db,
  run: RunRef<From>,
  ending: EndingFrom[From],
): Promise<EndedTask | undefined> {
  const { batchId } = run
  if (batchId === null) return moveAll(db, run, ending) // one statement, which the pool retries after a deadlock
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
    return await inTransaction(db, async (tx) => {
      await lockWorkspace(tx, run.workspaceId)
      // Counts before the fence is checked; a failed fence rolls back.
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
 * `slot` locks the workspace; `moved` is the fence, and no part writes if it fails. `freed` counts in a function
 * (migration 0049), which the last condition calls.
 */
async function moveAll(db: Db, run: RunRef, ending: Ending): Promise<EndedTask | undefined> {
  const { id, workspaceId, from, fence } = run
  const [counter, status] = [sql.ref(slotCounter(run)), sql.ref(from)]
  const singles = slotCounter(run) === 'open_singles' ? 1 : 0
  const queued = from === 'queued' ? 1 : 0
  const credit = settleParts({
    runs: sql`(select id as task_id, run from moved)`,
    outcome: isCharged(ending) ? 'captured' : 'released',
    at: sql`(select at from moment)`,
  })
  const { rows } = await sql<EndedRow>`
    with slot as materialized (
      select id, plan, waiting
        from workspace where id = ${workspaceId} and ${counter} > 0 and ${status} > 0 for no key update
    ), moved as (
      update task set ${endingColumns(ending)}
       where id = ${id} and status = ${from} and ${fence} and exists (select from slot)
      returning *
    ), freed as materialized (
      select count_tasks(workspace_id, ${-singles}::int, ${singles - 1}::int, ${-queued}::int, ${queued - 1}::int) as done
        from moved
    ), moment as materialized (
      -- Not the statement's time: the statement may have waited for a lock past a lot's expiry.
      select clock_timestamp() as at from moved
    ), ${credit}, ${recordParts(ending)}, ${announceParts(run, ending)}
    select *, (select count(*) from delivery) as deliveries, (select plan from slot) as plan,
           (select waiting from slot) as "othersWait", (select coalesce(sum(amount), 0) from hold) as credits
      from moved
     where (select done from freed)`.execute(db)
  return rows[0] && { ...rows[0], ends: endsOf(rows[0], ending) }
}

function endsOf({ plan, credits, queued_at, completed_at }: EndedRow, ending: Ending): RunEnds {
  return {
    plan,
    status: ending.status,
    reason: ending.status === 'failed' ? ending.reason : null,
    outcome: isCharged(ending) ? 'charged' : 'released',
    seconds: [secondsBetween(queued_at, completed_at ?? queued_at)],
    credits,
  }
}

const isCharged = (ending: Ending): boolean => ending.status === 'succeeded' && ending.isFree !== true

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
             result_size_bytes = ${ending.resultSizeBytes}, foreground = ${foreground}::jsonb,
             confidence = ${ending.confidence ?? null}::double precision,
             charge = case when ${ending.isFree ?? false}::boolean then 'none' else charge end`
}

/** History and usage counters of the day. */
function recordParts(ending: Ending): RawBuilder<unknown> {
  const failed = ending.status === 'failed'
  const details = JSON.stringify(detailsOf(ending))
  const work = JSON.stringify(ending.status !== 'canceled' && ending.work ? workPayload(ending.work) : {})
  const events = failed && ending.deadLetter === true ? ['failed', 'dead_letter'] : [ending.status]
  const add =
    ending.status === 'succeeded'
      ? {
          succeeded: sql`1`,
          credits: isCharged(ending) ? sql`(select coalesce(sum(amount), 0) from hold)` : sql`0`,
          latency_ms: sql`(extract(epoch from completed_at - created_at) * 1000)::bigint`,
        }
      : { [ending.status]: sql`1` }
  return sql`event as (
      insert into task_event (task_id, workspace_id, run, type, payload, for_user)
      select id, workspace_id, run, type, jsonb_build_object('run', run)
             || case when attempt > 0 then jsonb_build_object('attempt', attempt) else '{}' end || ${details}::jsonb
             || case when n = 1 then ${work}::jsonb else '{}' end,
             -- Children of a batch are not notified one by one.
             case when notify_maker and batch_id is null and type in ('succeeded', 'failed') then created_by end
        from moved, unnest(${events}::text[]) with ordinality as e (type, n)
       order by n
    ), ${usageParts({ from: sql`moved`, add })}`
}

function detailsOf(ending: Ending): Readonly<Record<string, unknown>> {
  if (ending.status === 'canceled') return {}
  if (ending.status === 'failed') return { reason: ending.reason, message: failureMessages[ending.reason] }
  const { confidence } = ending
  return { ...(confidence !== undefined && { confidence }), ...(ending.isFree && { charged: false }) }
}

/** One row per delivery, and one for a stream; none for a cancel. */
function announceParts({ id: taskId, ...run }: RunRef, ending: Ending): RawBuilder<unknown> {
  if (ending.status === 'canceled') return sql`delivery as (select id from moved where false)`
  const common = { ...run, taskId }
  const event = toDeliveries(
    ending.status === 'succeeded'
      ? { ...common, event: 'task.succeeded', message: 'The cut-out is ready.' }
      : { ...common, event: 'task.failed', reason: ending.reason, message: failureMessages[ending.reason] },
  )
  const moved = sql<boolean>`exists (select from moved)`
  return sql`streamed as (${keepForStream(event, moved)}), delivery as (${insertDeliveries(event, moved)} returning id)`
}
