import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Db } from './database.ts'

/** Above this drift the process is unready: its signatures would be rejected. */
const driftMaxMs = 30_000

export async function checkClock(db: Db): Promise<string | undefined> {
  const askedMs = Date.now()
  const { rows } = await sql<{ nowMs: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`.execute(db)
  const driftMs = Math.abs((rows[0]?.nowMs ?? 0) - (askedMs + Date.now()) / 2)
  return driftMs <= driftMaxMs ? undefined : 'clock differs from the database by more than 30 s'
}

/** Warns if the server's limit is too low for this process alone. */
export async function warnOfLowLimit(db: Db, poolMax: number, logger: Logger): Promise<void> {
  const { rows } = await sql<{ room: number }>`
    select least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
                   - coalesce(current_setting('reserved_connections', true)::int, 0), -- since PostgreSQL 16
                 (select nullif(datconnlimit, -1) from pg_database where datname = current_database()),
                 (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user)) as room`.execute(db)
  const room = rows[0]?.room ?? poolMax
  if (poolMax <= room) return
  logger.warn(
    { database_pool_max: poolMax, connections_allowed: room },
    'DATABASE_POOL_MAX is above what the server allows: lower it, or raise the limit of the server or the role',
  )
}
