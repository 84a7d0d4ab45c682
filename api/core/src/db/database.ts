import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Logger } from 'pino'
import type { Service } from '../runtime/service.ts'
import type { Tables } from './tables/index.ts'

/** A pool or a transaction alike: every query function takes this first. */
export type Db = Kysely<Tables>

// Sums and counts come as bigint; none of ours can pass 2^53, so they are numbers in the code.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
// A date is a calendar day in UTC and no instant: it stays `YYYY-MM-DD`.
pg.types.setTypeParser(pg.types.builtins.DATE, (day) => day)

export type DatabaseOptions = {
  readonly url: string
  /** Connections of this process; 2 to 4 per database core in all is a good start. */
  readonly poolMax: number
  readonly logger: Logger
  readonly applicationName: string
}

export type Database = Service & { readonly db: Db }

/**
 * The pool. A database that cannot be reached is an error of the query, within 3 s, and never of the start;
 * `statement_timeout` bounds every statement, `idle_in_transaction_session_timeout` every forgotten transaction.
 */
export function openDatabase({ url, poolMax, logger, applicationName }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolMax,
    connectionTimeoutMillis: 3_000,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: applicationName,
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 5_000,
  })
  pool.on('error', (error) => logger.warn({ err: error }, 'idle database connection lost'))
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  return { name: 'database', db, start: () => undefined, stop: () => db.destroy() }
}

/** True for a fault of the connection or of a server that starts or stops: the same call may work a moment later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  if (/^(08|57P0)/.test(code) || /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN)/.test(code)) return true
  if (code === '53300' || code === '53400') return true // too many connections
  return /connection terminated|timeout exceeded when trying to connect|Connection ended|not queryable/i.test(
    error.message,
  )
}
