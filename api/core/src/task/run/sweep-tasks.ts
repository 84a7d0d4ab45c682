// What no worker will end: runs that waited too long, and runs whose last attempt died with its worker. Every
// replica sweeps; each row is ended by a fenced transaction of its own, so that two sweepers do it once.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { FailureReason } from '../failure.ts'
import { maxAttempts } from '../limits.ts'
import { endRun } from './end-run.ts'

type SweepOptions = {
  /** A run that nobody took for so long fails with INFERENCE_TIMEOUT (D32). */
  readonly maxQueueAgeMs: number
  /** For `matte-admin sweep --now`: judge as if it were this time; else the database's clock. */
  readonly now?: Date | undefined
  readonly limit?: number
}

type Stuck = {
  id: string
  workspaceId: string
  batchId: string | null
  status: 'queued' | 'processing'
  run: number
  callbackUrl: string | null
  traceparent: string | null
  attempt: number
  exhausted: boolean
}

/** Ends at most `limit` runs; returns how many. */
export async function sweepTasks(db: Db, { maxQueueAgeMs, now, limit = 100 }: SweepOptions): Promise<number> {
  const at = now === undefined ? sql`now()` : sql`${now}::timestamptz`
  const idle = sql<boolean>`(claimed_until is null or claimed_until <= now())`
  const { rows } = await sql<Stuck>`
    select id, workspace_id as "workspaceId", batch_id as "batchId", status, run,
           callback_url as "callbackUrl", traceparent, attempt,
           (status = 'processing' and attempt >= ${maxAttempts}) as exhausted
      from task
     where status in ('queued', 'processing') and ${idle}
       and (queued_at <= ${at} - ${maxQueueAgeMs} * interval '1 ms'
            or (status = 'processing' and attempt >= ${maxAttempts}))
     order by queued_at limit ${limit}`.execute(db)
  let ended = 0
  for (const { status, attempt, exhausted, ...task } of rows) {
    const { run } = task
    const fence = sql<boolean>`(run = ${run} and attempt = ${attempt} and ${idle})`
    const reason: FailureReason = exhausted ? 'INTERNAL' : 'INFERENCE_TIMEOUT'
    const ref = { ...task, from: status, fence }
    if (await endRun(db, ref, { status: 'failed', reason, deadLetter: status === 'processing' })) ended += 1
  }
  return ended
}
