// The schema at the start of a process (D80). One replica migrates at a time, on a connection of its own that has not
// the limits of the pool: a large table takes longer than any request may. The others wait for as long as that takes,
// are not ready, and say so; a signal ends the wait. If the replica that migrates dies, its transaction is rolled back
// and the next one begins again.
import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Check } from '../runtime/health.ts'
import { pause, type Service } from '../runtime/service.ts'
import { checkClock } from './check-clock.ts'
import { warnOfRoom } from './connections/connection-room.ts'
import { type Database, type Db, isDatabaseUnavailable } from './database.ts'
import { checkSchema, type Migrations, migrateToLatest } from './migrate.ts'
import { migrations } from './migrations/index.ts'

type SchemaOptions = {
  readonly logger: Logger
  /** A database that nobody has reached for so long fails the start. */
  readonly reachableWithinMs?: number
  /** How long a migration waits for a table that is in use: all others who want the table wait behind it. */
  readonly tableWaitMs?: number
  readonly migrations?: Migrations
}

/** Until the start is over no check asks the database, so that the pool stays empty beside the one connection. */
type Schema = Service & { readonly checks: Readonly<Record<'database' | 'clock', Check>> }

const tryEveryMs = 1_000
const logEveryMs = 5_000

export function schemaAtStart(database: Database, options: SchemaOptions): Schema {
  const { db } = database
  const stopping = new AbortController()
  let starting: Promise<void> = Promise.resolve()
  let pending: string | undefined = 'database not reached yet'
  return {
    name: 'schema',
    start: () => {
      const report = (state: string | undefined): void => {
        pending = state
      }
      starting = bringUp(database, options, { signal: stopping.signal, report })
      return starting
    },
    stop: async () => {
      stopping.abort()
      await starting.catch(() => undefined) // the start has thrown it
    },
    checks: {
      database: () => pending ?? checkSchema(db, options.migrations),
      clock: () => (pending === undefined ? checkClock(db) : 'not compared yet'),
    },
  }
}

type Course = { readonly signal: AbortSignal; readonly report: (pending: string | undefined) => void }

/** Returns once the schema is there, or the signal came; throws when a step fails. */
async function bringUp(database: Database, options: SchemaOptions, { signal, report }: Course): Promise<void> {
  const { logger, reachableWithinMs = 60_000 } = options
  let reachedAt = performance.now()
  let logAt = 0
  const log = (error: unknown, message: string): void => {
    if (performance.now() < logAt) return
    logAt = performance.now() + logEveryMs
    logger.warn({ ...(error !== undefined && { err: error }) }, message)
  }
  while (!signal.aborted) {
    try {
      if (await tryOnce(database, options, { signal, report })) return report(undefined)
      log(undefined, 'another replica migrates the schema; waiting for it')
      reachedAt = performance.now()
    } catch (error) {
      if (signal.aborted) return
      if (isTableBusy(error)) {
        log(error, 'a table is in use; its migration is tried again')
        reachedAt = performance.now()
      } else if (isDatabaseUnavailable(error) && performance.now() - reachedAt < reachableWithinMs) {
        log(error, 'database not reachable yet')
      } else throw error
    }
    await pause(tryEveryMs, signal)
  }
}

/** On a connection for this try alone. False: another replica is migrating. */
async function tryOnce(database: Database, options: SchemaOptions, { signal, report }: Course): Promise<boolean> {
  const { logger, tableWaitMs = 3_000, migrations: list = migrations } = options
  await database.checkSessions(signal)
  const alone = database.openAlone(signal)
  try {
    if ((await checkSchema(alone, list)) !== undefined) {
      report('schema is being migrated')
      await liftLimits(alone, tableWaitMs)
      const { rows } = await sql<{ ours: boolean }>`
        select pg_try_advisory_lock(hashtext('matte.migrate')) as ours`.execute(alone)
      if (rows[0]?.ours !== true) return false
      const names = await migrateToLatest(alone, list)
      if (names.length > 0) logger.info({ migrations: names }, 'schema migrated')
    }
    // A pooler in transaction mode takes more connections than the server has.
    if (database.pooler === 'session') await warnOfRoom(alone, database.poolMax, logger)
    return true
  } finally {
    await alone.destroy() // and the lock with it
  }
}

/**
 * A role or a database may have limits of its own, so these are set and not left out. The one that stays is for a
 * replica whose machine is gone between two statements. One that dies within a statement is noticed each second, where
 * the server's system can.
 */
async function liftLimits(db: Db, tableWaitMs: number): Promise<void> {
  await sql`
    select set_config('statement_timeout', '0', false), set_config('lock_timeout', ${String(tableWaitMs)}, false),
           set_config('idle_in_transaction_session_timeout', '60000', false)`.execute(db)
  await sql`set client_connection_check_interval = 1000`.execute(db).catch(() => undefined)
}

/** Locked for too long, or wanted in the other order by a transaction of the build before. */
const isTableBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')
