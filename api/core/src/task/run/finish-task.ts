import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { type FailureReason, failureMessages, isInputFailure } from '../failure.ts'
import { attemptGapsMs, maxAttempts } from '../limits.ts'
import type { ClaimedTask } from './claim-task.ts'
import { type EndedTask, type EndingFrom, endRun } from './end-run.ts'

/** Every write of a worker matches (task, run, claim) or does nothing (D34). */
const claimFence = ({ run, claim }: ClaimedTask) => sql<boolean>`(run = ${run} and claim = ${claim})`

export type WorkerEnding = EndingFrom['processing']

/** Ends the claimed run. Undefined: the claim was lost to another worker, and nothing was changed. */
export function finishTask(db: Db, task: ClaimedTask, ending: WorkerEnding): Promise<EndedTask | undefined> {
  return endRun(db, { ...task, from: 'processing', fence: claimFence(task) }, ending)
}

/**
 * What a failed attempt comes to: the task waits for its next attempt, or has failed for good, or the claim was
 * lost meanwhile and nothing was written.
 */
type AttemptOutcome = 'waiting' | EndedTask | 'lost'

/**
 * Ends a failed attempt. A failure of the input ends the run at once; any other is tried again after 1, 5, 15 and
 * 60 s, and fails the run with the fifth (D32). The workspace's row is held as by every writer of history (A83).
 */
export async function failAttempt(db: Db, task: ClaimedTask, reason: FailureReason): Promise<AttemptOutcome> {
  if (isInputFailure(reason) || task.attempt >= maxAttempts) {
    const deadLetter = !isInputFailure(reason)
    return (await finishTask(db, task, { status: 'failed', reason, deadLetter })) ?? 'lost'
  }
  const gapMs = attemptGapsMs[task.attempt - 1] ?? attemptGapsMs[0]
  const payload = { run: task.run, attempt: task.attempt, reason, message: failureMessages[reason] }
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
