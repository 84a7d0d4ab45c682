import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** What operators change while the service runs (D53, D67). */
export type Settings = {
  readonly maintenance: boolean
  readonly batchEnabled: boolean
  readonly dispatchPaused: boolean
  readonly allowedTargets: readonly string[]
}

const names = {
  maintenance: 'maintenance',
  batchEnabled: 'batchEnabled',
  dispatchPaused: 'dispatchPaused',
  'webhooks.allowedTargets': 'allowedTargets',
} as const

export type SettingName = keyof typeof names
export const settingNames = Object.keys(names) as SettingName[]

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
