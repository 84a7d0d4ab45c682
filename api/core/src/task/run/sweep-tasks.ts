// Ends runs that no worker will end: those that waited too long, and those whose last attempt died with its worker.
// Every replica sweeps; each run is ended by a fenced transaction.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'
import type { FailureReason } from '../failure.ts'
import { maxAttempts } from '../limits.ts'
import { type EndedTask, endRun } from './end-run.ts'

type SweepOptions = SweepPass & {
  /** Age after which a waiting run fails with INFERENCE_TIMEOUT. */
  readonly maxQueueAgeMs: number
  /** Called with each ended run; `lapsed`: a worker had claimed it. */
  readonly ended?: (task: EndedTask, lapsed: boolean) => void
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
  lapsed: boolean
}

/** Ends at most `limit` runs; returns their number. */
export async function sweepTasks(db: Db, options: SweepOptions): Promise<number> {
  const { maxQueueAgeMs, now, limit = 100, aside } = options
  const at = now === undefined ? sql`now()` : sql`${now}::timestamptz`
  const idle = sql<boolean>`(claimed_until is null or claimed_until <= now())`
  const { rows } = await sql<Stuck>`
    select id, workspace_id as "workspaceId", batch_id as "batchId", status, run,
           callback_url as "callbackUrl", traceparent, attempt,
           (status = 'processing' and attempt >= ${maxAttempts}) as exhausted, claim is not null as lapsed
      from task
     where status in ('queued', 'processing') and ${idle} and id <> all(${idsAside(options)}::uuid[])
       and (queued_at <= ${at} - ${maxQueueAgeMs} * interval '1 ms'
            or (status = 'processing' and attempt >= ${maxAttempts}))
     order by queued_at limit ${limit}`.execute(db)
  return sumEach(rows, options, async ({ status, attempt, exhausted, lapsed, ...task }) => {
    const { run } = task
    const fence = sql<boolean>`(run = ${run} and attempt = ${attempt} and ${idle})`
    const reason: FailureReason = exhausted ? 'INTERNAL' : 'INFERENCE_TIMEOUT'
    const ref = { ...task, from: status, fence }
    const ended = await endRun(db, ref, { status: 'failed', reason, deadLetter: status === 'processing' })
    if (ended) {
      options.ended?.(ended, lapsed)
      return 1
    }
    aside?.set(task.id, undefined) // another sweep was first, or the workspace does not count this task
    return 0
  })
}
