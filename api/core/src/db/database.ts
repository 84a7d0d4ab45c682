import { Socket } from 'node:net'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import type { Logger } from 'pino'
import type { Connection } from '../database-settings.ts'
import { systemClock } from '../runtime/clock.ts'
import type { EdgeMetrics } from '../runtime/metrics/edge-metrics.ts'
import type { Service } from '../runtime/service.ts'
import { refuseSharedSession } from './connections/shared-sessions.ts'
import { askServer } from './connections/stuck-connections.ts'
import { failFastPool } from './fail-fast-pool.ts'
import { observeDatabase, unobserved } from './metrics/database-metrics.ts'
import { noNames } from './statement-names.ts'
import type { Tables } from './tables/index.ts'

/** A pool or a transaction alike: every query function takes this first. */
export type Db = Kysely<Tables>

// Sums and counts come as bigint; none of ours can pass 2^53, so they are numbers in the code.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
// A date is a calendar day in UTC and no instant: it stays `YYYY-MM-DD`.
pg.types.setTypeParser(pg.types.builtins.DATE, (day) => day)

type DatabaseOptions = Pick<Connection, 'url'> &
  Partial<Connection> & {
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
   * it, as does the signal, whatever is running. Its statements fail with a ConfigError where a pooler shares sessions.
   */
  openAlone(signal: AbortSignal): Db
  /** @throws ConfigError when a pooler shares the sessions of the pool among connections, and no setting says so */
  checkSessions(signal: AbortSignal): Promise<void>
  readonly pooler: Connection['pooler']
}

/** Limits of the server, in milliseconds. As parameters of the start a pooler would refuse them. */
const limits = { statement_timeout: 30_000, idle_in_transaction_session_timeout: 5_000 }
const setLimits = (scope: 'session' | 'local'): string =>
  Object.entries(limits)
    .map(([name, ms]) => `set ${scope} ${name} = ${ms}`)
    .join('; ')

/** How long a new connection may take, and each of its first questions. */
const connectMs = 3_000

/**
 * The pool. A database that cannot be reached is an error of the query, within 3 s and at once for those who come
 * after (fail-fast-pool.ts), and never of the start; `statement_timeout` bounds every statement, `query_timeout` one
 * whose server no longer answers and cannot be asked (stuck-connections.ts), and every forgotten transaction is bounded
 * by `idle_in_transaction_session_timeout`. Behind a pooler in transaction mode the server's limits are set for each
 * transaction; a statement outside of one has those of its role.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { url, poolMax, pooler = 'session' } = options
  const pool = createPool(options, url, {
    max: poolMax,
    idleTimeoutMillis: 30_000,
    query_timeout: 35_000,
    ...(pooler === 'session' && { onConnect: limitSession }),
  })
  const isAway = (error: unknown): boolean => isDatabaseUnavailable(error) && !hasTooManyConnections(error)
  const { logger, metrics } = options
  const failFast = failFastPool(pool, {
    clock: systemClock,
    isAway,
    hasNoRoom: hasTooManyConnections,
    ...(pooler === 'session'
      ? { findWorking: askServer(clientConfig(options, url)) }
      : { findWorking: nobodyKnows, names: noNames, withBegin: setLimits('local') }),
    observer: metrics === undefined ? unobserved : observeDatabase(metrics, pool),
    logger,
  })
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: failFast }) })
  const { oldestWaitMs } = failFast
  return {
    name: 'database',
    db,
    oldestWaitMs,
    poolMax,
    pooler,
    openAlone: (signal) => openOne(options, options.directUrl ?? url, signal),
    checkSessions: (signal) => checkSessions(options, signal),
    start: () => undefined,
    stop: () => db.destroy(),
  }
}

const limitSession = async (client: pg.ClientBase): Promise<void> => {
  const bounded: pg.QueryConfig & { query_timeout: number } = { text: setLimits('session'), query_timeout: connectMs }
  await client.query(bounded)
}

/** The server process of a connection is not known, so no statement is taken for stuck. */
const nobodyKnows = async (): Promise<undefined> => undefined

/** `openAlone` checks its own connections. */
async function checkSessions(options: DatabaseOptions, signal: AbortSignal): Promise<void> {
  const { url, pooler, directUrl = url } = options
  if (pooler === 'transaction' || directUrl === url) return
  const alone = openOne(options, url, signal)
  try {
    await sql`select 1`.execute(alone)
  } finally {
    await alone.destroy()
  }
}

function openOne(options: DatabaseOptions, url: string, signal: AbortSignal): Db {
  const stream = (): Socket => {
    const socket = new Socket()
    const cut = (): unknown => socket.destroy()
    if (signal.aborted) cut()
    signal.addEventListener('abort', cut, { once: true })
    socket.once('close', () => signal.removeEventListener('abort', cut))
    return socket
  }
  const advice =
    url === options.url && options.pooler !== 'transaction'
      ? 'set DATABASE_POOLER=transaction, and DATABASE_DIRECT_URL to a URL of PostgreSQL itself'
      : 'DATABASE_DIRECT_URL must lead to PostgreSQL itself, or to a pooler in session mode'
  const onConnect = (client: pg.ClientBase) => refuseSharedSession(client, clientConfig(options, url), advice)
  const pool = createPool(options, url, { max: 1, stream, onConnect })
  const connect = (): Promise<pg.PoolClient> =>
    pool.connect().catch((error: unknown) => {
      options.metrics?.failed('database', error)
      throw error
    })
  return new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: { connect, options: pool.options, end: () => pool.end() } }),
  })
}

const clientConfig = ({ applicationName }: DatabaseOptions, url: string): pg.ClientConfig => ({
  connectionString: url,
  application_name: applicationName,
  connectionTimeoutMillis: connectMs,
  keepAlive: true,
})

function createPool(options: DatabaseOptions, url: string, poolOptions: pg.PoolConfig): pg.Pool {
  const { logger } = options
  const pool = new pg.Pool({ ...clientConfig(options, url), ...poolOptions })
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
  error instanceof Error &&
  'code' in error &&
  (error.code === '53300' || error.code === '53400' || /no more connections allowed/.test(error.message)) // PgBouncer

/** True for a row that has nothing in this column, which must not be empty. */
export const isNullViolation = (error: unknown, column: string): boolean =>
  error instanceof pg.DatabaseError && error.code === '23502' && error.column === column
