import type pg from 'pg'
import type { Logger } from 'pino'
import type { Clock } from '../runtime/clock.ts'

const retryAfterMs = 10_000
const waitMaxMs = 3_000

type FallbackOptions = {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly isServerFull: (error: unknown) => boolean
  readonly logger: Pick<Logger, 'warn'>
}

/** Connects through the pool. If the server rejects a connection, the pool counts as full for 10 s. */
export function connectWithFallback(
  pool: pg.Pool,
  { clock, isServerFull, logger }: FallbackOptions,
): () => Promise<pg.PoolClient> {
  const { max } = pool.options
  let retryAtMs = 0
  return async () => {
    const sinceMs = clock.monotonicMs()
    for (;;) {
      if (clock.monotonicMs() >= retryAtMs) pool.options.max = max
      try {
        return await pool.connect()
      } catch (error) {
        const nowMs = clock.monotonicMs()
        if (!isServerFull(error) || pool.totalCount === 0 || nowMs - sinceMs > waitMaxMs) throw error
        pool.options.max = Math.min(max, pool.totalCount)
        if (nowMs >= retryAtMs)
          logger.warn({ err: error, connections: pool.totalCount }, 'database rejects further connections')
        retryAtMs = nowMs + retryAfterMs
      }
    }
  }
}
