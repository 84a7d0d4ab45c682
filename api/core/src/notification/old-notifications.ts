import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SweepPass } from '../db/sweep.ts'

const keptDays = 90

/** Old ones go, read or not. */
export async function deleteOldNotifications(db: Db, { now, limit = 1_000 }: SweepPass = {}): Promise<number> {
  const at = now === undefined ? sql`now()` : sql`${now}::timestamptz`
  const { numAffectedRows = 0n } = await sql`
    delete from notification where id in (
      select id from notification where created_at <= ${at} - ${keptDays} * interval '1 day'
       order by created_at limit ${limit} for update skip locked)`.execute(db)
  return Number(numAffectedRows)
}
