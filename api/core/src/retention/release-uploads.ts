import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SweepPass } from '../db/sweep.ts'
import { unusedHours } from '../workspace/plan.ts'

/** Time of the pass: `now`, or the database clock. */
export const timeOf = (now: Date | undefined) => (now === undefined ? sql<Date>`now()` : sql<Date>`${now}::timestamptz`)

/**
 * Releases unused uploads and schedules their objects for deletion; returns their number. A creation locks the
 * same row: either the upload counts as used, or the creation gets TASK_INPUT_FORBIDDEN.
 */
export async function releaseUnusedUploads(db: Db, { now, limit = 500 }: SweepPass = {}): Promise<number> {
  const at = timeOf(now)
  const unused = sql<boolean>`(used_at is null and deleted_at is null)`
  const { rows } = await sql<{ objectKey: string }>`
    with old as materialized (
      select id from upload where ${unused} and created_at <= ${at} - ${unusedHours} * interval '1 hour'
       order by created_at limit ${limit} for update skip locked
    ), released as (
      update upload set deleted_at = ${at} where id in (select id from old) and ${unused}
      returning object_key
    ), line as (
      insert into object_deletion (object_key, due_at) select object_key, ${at} from released
      on conflict (object_key) do update set due_at = excluded.due_at
    )
    select object_key as "objectKey" from released`.execute(db)
  return rows.length
}
