import { Socket } from 'node:net'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import type { Logger } from 'pino'
import type { Connection } from '../database-settings.ts'
import { systemClock } from '../runtime/clock.ts'
import type { EdgeMetrics } from '../runtime/metrics/edge-metrics.ts'
import type { Service } from '../runtime/service.ts'
import { hasTooManyConnections, isDatabaseUnavailable } from './database-errors.ts'
import { observeDatabase, unobserved } from './database-metrics.ts'
import { failFastPool } from './fail-fast-pool.ts'
import { refuseSharedSession } from './shared-sessions.ts'
import { noNames } from './statement-names.ts'
import { askServer } from './stuck-connections.ts'
import type { Tables } from './tables/index.ts'

/** A pool or a transaction; the first parameter of every query function. */
export type Db = Kysely<Tables>

// bigint as number: no sum or count here can pass 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
// A calendar day in UTC, so it stays `YYYY-MM-DD`.
pg.types.setTypeParser(pg.types.builtins.DATE, (day) => day)

type DatabaseOptions = Pick<Connection, 'url'> &
  Partial<Connection> & {
    /** Connections of this process. Start with 2 to 4 per database core over all processes. */
    readonly poolMax: number
    readonly logger: Logger
    readonly applicationName: string
    readonly metrics?: EdgeMetrics
  }

export type Database = Service & {
  readonly db: Db
  oldestWaitMs(): number
  readonly poolMax: number
  /** A single connection without time limits, for the start; `destroy` or the signal closes it at once. */
  openAlone(signal: AbortSignal): Db
  /** @throws ConfigError if a pooler shares the pool's sessions without DATABASE_POOLER=transaction */
  checkSessions(signal: AbortSignal): Promise<void>
  readonly pooler: Connection['pooler']
}

/** Server limits in milliseconds. Set by statement, because poolers reject them as start-up parameters. */
const limits = { statement_timeout: 30_000, idle_in_transaction_session_timeout: 5_000 }
const setLimits = (scope: 'session' | 'local'): string =>
  Object.entries(limits)
    .map(([name, ms]) => `set ${scope} ${name} = ${ms}`)
    .join('; ')

const connectMs = 3_000

/**
 * Opens the pool. Without a reachable database queries fail within 3 s, then at once (fail-fast-pool.ts); the start
 * does not fail. `statement_timeout` bounds statements, `query_timeout` those without a response from an unreachable
 * server (stuck-connections.ts). With DATABASE_POOLER=transaction limits are set per transaction; other statements use
 * the role's limits.
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
    isServerFull: hasTooManyConnections,
    ...(pooler === 'session'
      ? { findWorking: askServer(clientConfig(options, url)) }
      : { findWorking: workUnknown, names: noNames, withBegin: setLimits('local') }),
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

/** Behind a pooler the server process is unknown, so no statement counts as stuck. */
const workUnknown = async (): Promise<undefined> => undefined

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
  // Between two statements of a transaction the connection has no error listener, so a lost connection would end the
  // process. The next statement fails by itself.
  pool.on('connect', (client) =>
    client.on('error', (error) => logger.debug({ err: error }, 'database connection lost')),
  )
  return pool
}

export const isNullViolation = (error: unknown, column: string): boolean =>
  error instanceof pg.DatabaseError && error.code === '23502' && error.column === column
