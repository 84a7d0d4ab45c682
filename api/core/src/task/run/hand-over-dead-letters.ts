// Publishes tasks whose attempts are exhausted to the dead-letter stream. The message is published before it is
// recorded; after a crash in between it is published again, and the stream rejects the duplicate by its id.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'

type DeadLetter = {
  readonly taskId: string
  readonly run: number
  readonly workspaceId: string
  readonly modelVersion: string
  readonly reason: string
}

/** Publishes with `id` for de-duplication; resolves once the stream has stored it. */
type PublishDeadLetter = (letter: DeadLetter, id: string) => Promise<void>

/** Failures in one pass after which the stream counts as down: each may have waited for its timeout. */
const failuresMax = 3

/** Publishes at most `limit` tasks; returns their number. */
export async function handOverDeadLetters(db: Db, publish: PublishDeadLetter, pass: SweepPass = {}): Promise<number> {
  const { limit = 50, aside } = pass
  const rows = await db
    .selectFrom('task')
    .select(['id', 'run', 'workspace_id', 'model_version', 'failure_reason'])
    .where('dead_letter', '=', 'due')
    .where(sql<boolean>`id <> all(${idsAside(pass)}::uuid[])`)
    .orderBy('completed_at')
    .limit(limit)
    .execute()
  return sumEach(rows, pass, async (row) => {
    const { id, run, workspace_id: workspaceId, model_version: modelVersion, failure_reason: reason } = row
    if (aside !== undefined && aside.size >= failuresMax) return 0
    await publish({ taskId: id, run, workspaceId, modelVersion, reason: reason ?? 'INTERNAL' }, `${id}:${run}`)
    const { rows: noted } = await sql<{ id: string }>`
      with held as materialized (
        select id from workspace where id = ${workspaceId} for no key update
      ), noted as (
        update task set dead_letter = 'done'
         where id = ${id} and run = ${run} and status = 'failed' and dead_letter = 'due'
           and exists (select from held)
        returning id, workspace_id, run
      )
      insert into task_event (task_id, workspace_id, run, type, payload)
      select id, workspace_id, run, 'dead_lettered', jsonb_build_object('run', run) from noted
      returning task_id as id`.execute(db)
    return noted.length
  })
}
