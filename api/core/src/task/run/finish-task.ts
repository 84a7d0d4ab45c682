import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { type AttemptWork, workPayload } from '../attempt-work.ts'
import { type FailureReason, failureMessages, isInputFailure } from '../failure.ts'
import { attemptGapsMs, maxAttempts } from '../limits.ts'
import type { ClaimedTask } from './claim-task.ts'
import { type EndedTask, type EndingFrom, endRun } from './end-run.ts'

/** Every write of a worker matches (task, run, claim), or writes nothing (D34). */
const claimFence = ({ run, claim }: ClaimedTask) => sql<boolean>`(run = ${run} and claim = ${claim})`

export type WorkerEnding = EndingFrom['processing']

/** Ends the claimed run. Undefined: another worker holds the claim, and nothing changed. */
export function finishTask(db: Db, task: ClaimedTask, ending: WorkerEnding): Promise<EndedTask | undefined> {
  return endRun(db, { ...task, from: 'processing', fence: claimFence(task) }, ending)
}

/** Outcome of a failed attempt: retry later, failed permanently, or claim lost (nothing written). */
type AttemptOutcome = 'waiting' | EndedTask | 'lost'

/**
 * Ends a failed attempt. An input failure ends the run; any other is retried after 1, 5, 15 and 60 s and ends the run
 * with the fifth attempt. Holds the lock of the workspace, as every writer of history does.
 */
export async function failAttempt(
  db: Db,
  task: ClaimedTask,
  reason: FailureReason,
  work?: AttemptWork,
): Promise<AttemptOutcome> {
  if (isInputFailure(reason) || task.attempt >= maxAttempts) {
    const deadLetter = !isInputFailure(reason)
    return (await finishTask(db, task, { status: 'failed', reason, deadLetter, work })) ?? 'lost'
  }
  const gapMs = attemptGapsMs[task.attempt - 1] ?? attemptGapsMs[0]
  const failure = { run: task.run, attempt: task.attempt, reason, message: failureMessages[reason] }
  const payload = { ...failure, ...(work && workPayload(work)) }
  const { rows } = await sql<{ id: string }>`
    with held as materialized (
      select id from workspace where id = ${task.workspaceId} for no key update
    ), waiting as (
      update task set claim = null, claimed_until = null, due_at = now() + ${gapMs} * interval '1 ms'
       where id = ${task.id} and status = 'processing' and ${claimFence(task)}
         and exists (select from held)
      returning id, workspace_id, run
    )
    insert into task_event (task_id, workspace_id, run, type, payload)
    select id, workspace_id, run, 'attempt_failed', ${JSON.stringify(payload)}::jsonb from waiting
    returning task_id as id`.execute(db)
  return rows.length > 0 ? 'waiting' : 'lost'
}
