import { sql } from 'kysely'
import type { Db } from './database.ts'

/** A process further from the database's time than this is unready: its signatures would not hold (D80, D82). */
const driftMaxMs = 30_000

/** For `/readyz`: undefined while this process's clock agrees with the database's. */
export async function checkClock(db: Db): Promise<string | undefined> {
  const askedMs = Date.now()
  const { rows } = await sql<{ nowMs: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`.execute(db)
  const driftMs = Math.abs((rows[0]?.nowMs ?? 0) - (askedMs + Date.now()) / 2)
  return driftMs <= driftMaxMs ? undefined : 'clock differs from the database by more than 30 s'
}
