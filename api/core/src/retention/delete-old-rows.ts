import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SweepPass } from '../db/sweep.ts'

/** Days until ended mails and notifications are deleted. */
const keptDays = 90

export const deleteOldMails = (db: Db, pass?: SweepPass) => deleteOlder(db, 'mail', 'completed_at', keptDays, pass)

export const deleteOldNotifications = (db: Db, pass?: SweepPass) =>
  deleteOlder(db, 'notification', 'created_at', keptDays, pass)

export const deleteOldAuditEntries = (db: Db, days: number, pass?: SweepPass) =>
  deleteOlder(db, 'audit_entry', 'at', days, pass)

/** Fetches last seconds. */
export const deleteOldFetches = (db: Db, pass?: SweepPass) =>
  deleteOlder(db, 'upload_fetch', 'created_at', 1 / 24, pass)

async function deleteOlder(
  db: Db,
  table: string,
  column: string,
  days: number,
  { now, limit = 1_000 }: SweepPass = {},
): Promise<number> {
  const [from, at] = [sql.table(table), sql.ref(column)]
  const before = sql`coalesce(${now ?? null}::timestamptz, now()) - ${days}::float8 * interval '1 day'`
  const { numAffectedRows = 0n } = await sql`
    delete from ${from} where id in (
      select id from ${from} where ${at} <= ${before} order by ${at} limit ${limit} for update skip locked)`.execute(db)
  return Number(numAffectedRows)
}
