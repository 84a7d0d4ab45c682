// What a process does about a server that has not room for as many connections as DATABASE_POOL_MAX.
import { sql } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Clock } from '../runtime/clock.ts'
import type { Db } from './database.ts'

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
    'DATABASE_POOL_MAX is above what the server allows: lower it, or raise max_connections or the limit of the role',
  )
}

/** How long a pool that was refused a connection does not ask for another. */
const askAgainAfterMs = 10_000
/** The same wait as for a free connection of a full pool. */
const waitMaxMs = 3_000

type MakeDoOptions = {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly hasNoRoom: (error: unknown) => boolean
  /** Called once for each such time, with the error. */
  readonly report: (error: unknown) => void
}

/**
 * Connects by the pool. A pool that is refused a connection while it has others counts as full for some seconds, and who
 * asked waits for one of those: an error would tell callers to go away although others are served.
 */
export function makeDo(pool: pg.Pool, { clock, hasNoRoom, report }: MakeDoOptions): () => Promise<pg.PoolClient> {
  const { max } = pool.options
  let askAgainAtMs = 0
  return async () => {
    const sinceMs = clock.monotonicMs()
    for (;;) {
      if (clock.monotonicMs() >= askAgainAtMs) pool.options.max = max
      try {
        return await pool.connect()
      } catch (error) {
        const nowMs = clock.monotonicMs()
        if (!hasNoRoom(error) || pool.totalCount === 0 || nowMs - sinceMs > waitMaxMs) throw error
        if (nowMs >= askAgainAtMs) report(error)
        pool.options.max = Math.min(max, pool.totalCount)
        askAgainAtMs = nowMs + askAgainAfterMs
      }
    }
  }
}
