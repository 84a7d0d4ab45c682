// What a pool does about a server that has not room for as many connections as it may open.
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Clock } from '../runtime/clock.ts'

/** How long a pool that was refused a connection does not ask for another. */
const askAgainAfterMs = 10_000
/** The same wait as for a free connection of a full pool. */
const waitMaxMs = 3_000

type MakeDoOptions = {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly hasNoRoom: (error: unknown) => boolean
  /** Gets one line for each such time. */
  readonly logger: Pick<Logger, 'warn'>
}

/**
 * Connects by the pool. A pool that is refused a connection while it has others counts as full for some seconds, and
 * who asked waits for one of those: an error would tell callers to go away although others are served.
 */
export function makeDo(pool: pg.Pool, { clock, hasNoRoom, logger }: MakeDoOptions): () => Promise<pg.PoolClient> {
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
        pool.options.max = Math.min(max, pool.totalCount)
        if (nowMs >= askAgainAtMs)
          logger.warn({ err: error, connections: pool.totalCount }, 'database takes no more connections')
        askAgainAtMs = nowMs + askAgainAfterMs
      }
    }
  }
}
