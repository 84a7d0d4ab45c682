import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SweepPass } from '../db/sweep.ts'

/** Days until ended mails and notifications are deleted. */
const keptDays = 90

export const deleteOldMails = (db: Db, pass?: SweepPass) => deleteOlder(db, 'mail', 'completed_at', keptDays, pass)

export const deleteOldNotifications = (db: Db, pass?: SweepPass) =>
  deleteOlder(db, 'notification', 'created_at', keptDays, pass)

/** False for every role but the worker's and the owner of the tables. */
export async function mayDeleteAuditEntries(db: Db): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`select has_table_privilege('audit_entry', 'delete') as may`.execute(db)
  return rows[0]?.may === true
}

export const deleteOldAuditEntries = (db: Db, days: number, pass?: SweepPass) =>
  deleteOlder(db, 'audit_entry', 'at', days, pass)

/** Days of the operator's records about pools. A chart shows hours, so samples are kept for one day. */
const recordDays = 7
const sampleDays = 1

/** Decisions, steps of rollouts, samples, and reports about pools that no leader has reported since. */
export async function deleteOldPoolRecords(db: Db, pass?: SweepPass): Promise<number> {
  const samples = await deleteOlder(db, 'pool_sample', 'at', sampleDays, pass)
  const decisions = await deleteOlder(db, 'scaling_decision', 'at', recordDays, pass)
  const steps = await deleteOlder(db, 'rollout_step', 'at', recordDays, pass)
  return samples + decisions + steps + (await deleteOlder(db, 'pool_report', 'at', recordDays, pass))
}

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
