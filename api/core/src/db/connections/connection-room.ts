import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Db } from '../database.ts'

/**
 * Warns when the server could not even serve this process alone. How many processes there are nobody knows here; the
 * README's table adds them up.
 */
export async function warnOfRoom(db: Db, poolMax: number, logger: Logger): Promise<void> {
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
