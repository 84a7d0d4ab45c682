import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { SettingName, Settings } from './setting.ts'

export async function readSettings(db: Db): Promise<Settings> {
  const rows = await db.selectFrom('setting').select(['name', 'value']).execute()
  const stored = Object.fromEntries(rows.map((row) => [row.name, row.value]))
  return {
    maintenance: stored.maintenance === true,
    batchEnabled: stored.batchEnabled !== false,
    dispatchPaused: stored.dispatchPaused === true,
    allowedTargets: Array.isArray(stored['webhooks.allowedTargets']) ? stored['webhooks.allowedTargets'] : [],
  }
}

export async function writeSetting(db: Db, name: SettingName, value: boolean | readonly string[]): Promise<void> {
  const row = { value: JSON.stringify(value), updated_at: sql<Date>`now()` }
  await db
    .insertInto('setting')
    .values({ name, ...row })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
    .execute()
}
