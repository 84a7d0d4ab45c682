import { Socket } from 'node:net'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Logger } from 'pino'
import { systemClock } from '../runtime/clock.ts'
import type { EdgeMetrics } from '../runtime/metrics/edge-metrics.ts'
import type { Service } from '../runtime/service.ts'
import { askServer } from './connections/stuck-connections.ts'
import { failFastPool } from './fail-fast-pool.ts'
import { observeDatabase, unobserved } from './metrics/database-metrics.ts'
import type { Tables } from './tables/index.ts'

/** A pool or a transaction alike: every query function takes this first. */
export type Db = Kysely<Tables>

// Sums and counts come as bigint; none of ours can pass 2^53, so they are numbers in the code.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
// A date is a calendar day in UTC and no instant: it stays `YYYY-MM-DD`.
pg.types.setTypeParser(pg.types.builtins.DATE, (day) => day)

type DatabaseOptions = {
  readonly url: string
  /** The most connections of this process; 2 to 4 per database core in all is a good start. */
  readonly poolMax: number
  readonly logger: Logger
  readonly applicationName: string
  /** Absent in programs that serve no metrics. */
  readonly metrics?: EdgeMetrics
}

export type Database = Service & {
  readonly db: Db
  /** Milliseconds that the first in the queue for a connection has waited by now; 0 when nobody waits. */
  oldestWaitMs(): number
  /** The most connections that it has open at once. */
  readonly poolMax: number
  /**
   * One connection beside the pool, without limits on time: for a start, before the pool is used. Its `destroy` closes
   * it, as does the signal, whatever is running.
   */
  openAlone(signal: AbortSignal): Db
}

/**
 * The pool. A database that cannot be reached is an error of the query, within 3 s and at once for those who come
 * after (fail-fast-pool.ts), and never of the start; `statement_timeout` bounds every statement, `query_timeout` one
 * whose server no longer answers and cannot be asked (stuck-connections.ts), and every forgotten transaction is bounded
 * by `idle_in_transaction_session_timeout`.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { poolMax } = options
  const pool = createPool(options, {
    max: poolMax,
    idleTimeoutMillis: 30_000,
    statement_timeout: 30_000,
    query_timeout: 35_000,
    idle_in_transaction_session_timeout: 5_000,
  })
  const isAway = (error: unknown): boolean => isDatabaseUnavailable(error) && !hasTooManyConnections(error)
  const { logger, metrics } = options
  const failFast = failFastPool(pool, {
    clock: systemClock,
    isAway,
    hasNoRoom: hasTooManyConnections,
    findWorking: askServer(connectionOf(options)),
    observer: metrics === undefined ? unobserved : observeDatabase(metrics, pool),
    logger,
  })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: failFast }) })
  const { oldestWaitMs } = failFast
  const openAlone = (signal: AbortSignal): Db => openOne(options, signal)
  return { name: 'database', db, oldestWaitMs, poolMax, openAlone, start: () => undefined, stop: () => db.destroy() }
}

function openOne(options: DatabaseOptions, signal: AbortSignal): Db {
  const stream = (): Socket => {
    const socket = new Socket()
    const cut = (): unknown => socket.destroy()
    if (signal.aborted) cut()
    signal.addEventListener('abort', cut, { once: true })
    socket.once('close', () => signal.removeEventListener('abort', cut))
    return socket
  }
  const pool = createPool(options, { max: 1, stream })
  const connect = (): Promise<pg.PoolClient> =>
    pool.connect().catch((error: unknown) => {
      options.metrics?.failed('database', error)
      throw error
    })
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: { connect, options: pool.options, end: () => pool.end() } }),
  })
}

const connectionOf = ({ url, applicationName }: DatabaseOptions): pg.ClientConfig => ({
  connectionString: url,
  application_name: applicationName,
  connectionTimeoutMillis: 3_000,
  keepAlive: true,
})

function createPool(options: DatabaseOptions, poolOptions: pg.PoolConfig): pg.Pool {
  const { logger } = options
  const pool = new pg.Pool({ ...connectionOf(options), ...poolOptions })
  pool.on('error', (error) => logger.warn({ err: error }, 'idle database connection lost'))
  // A connection that is lost between two statements of a transaction has no query to fail and no idle listener: its
  // error would end the process. The next statement fails by itself.
  pool.on('connect', (client) =>
    client.on('error', (error) => logger.debug({ err: error }, 'database connection lost')),
  )
  return pool
}

/** True for an error of the connection or of a server that starts or stops: the same call may work a moment later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  if (/^(08|57P0)/.test(code) || /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)/.test(code))
    return true
  if (hasTooManyConnections(error)) return true
  return unavailableMessages.test(error.message)
}

/** The driver gives these no code. */
const unavailableMessages =
  /connection terminated|timeout exceeded when trying to connect|connection ended|not queryable|query read timeout/i

const hasTooManyConnections = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '53300' || error.code === '53400')

/** True for a row that has nothing in this column, which must not be empty. */
export const isNullViolation = (error: unknown, column: string): boolean =>
  error instanceof pg.DatabaseError && error.code === '23502' && error.column === column
