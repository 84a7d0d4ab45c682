import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SweepPass } from '../db/sweep.ts'

/** Entries of audit logs that are older than an operator keeps them. */
export async function deleteOldChanges(
  db: Db,
  keptDays: number,
  { now, limit = 1_000 }: SweepPass = {},
): Promise<number> {
  const at = now === undefined ? sql`now()` : sql`${now}::timestamptz`
  const { numAffectedRows = 0n } = await sql`
    delete from audit_entry where id in (
      select id from audit_entry where at <= ${at} - ${keptDays}::int * interval '1 day'
       order by at limit ${limit} for update skip locked)`.execute(db)
  return Number(numAffectedRows)
}
