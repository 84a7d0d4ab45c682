import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SweepPass } from '../db/sweep.ts'
import { unusedHours } from '../workspace/plan.ts'

/** The time that a pass judges by. */
export const timeOf = (now: Date | undefined) => (now === undefined ? sql<Date>`now()` : sql<Date>`${now}::timestamptz`)

/**
 * Gives unused uploads up, oldest first, and puts their objects down for deletion at once; returns how many.
 * A creation locks the same row: either it comes first and the row is used, or it finds the row given up and answers
 * TASK_INPUT_FORBIDDEN. A row that is locked is left to the next pass.
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
