// The schema at the start of a process (D80). One replica migrates at a time, on a connection of its own that has not
// the limits of the pool: a large table takes longer than any request may. The others wait for as long as that takes,
// are not ready, and say so; a signal ends the wait. If the replica that migrates dies, its transaction is rolled back
// and the next one begins again. A process whose role does not own the tables waits until their owner has migrated and
// granted what the process needs (D89).
import { sql } from 'kysely'
import type { Logger } from 'pino'
import { ConfigError } from '../runtime/env.ts'
import type { Check } from '../runtime/health.ts'
import { pause, type Service } from '../runtime/service.ts'
import { checkClock } from './check-clock.ts'
import { warnOfRoom } from './connections/connection-room.ts'
import { type Database, type Db, isDatabaseUnavailable } from './database.ts'
import { checkSchema, type Migrations, migrateToLatest } from './migrate.ts'
import { migrations } from './migrations/index.ts'
import { grantMissing, rolesThatLack } from './roles/grant-missing.ts'
import { mayMigrate, missingPrivileges } from './roles/missing-privileges.ts'
import type { ProcessRole } from './roles/table-rights.ts'

type SchemaOptions = {
  readonly logger: Logger
  /** The processes whose tables this one uses. */
  readonly roles: readonly ProcessRole[]
  /** False fails the start instead of waiting for the owner of the tables. */
  readonly awaitsOwner?: boolean
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
/** Missing privileges in one line of the log. */
const shownMax = 5

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
  const log = (fields: object, message: string): void => {
    if (performance.now() < logAt) return
    logAt = performance.now() + logEveryMs
    logger.warn(fields, message)
  }
  while (!signal.aborted) {
    try {
      const wait = await tryOnce(database, options, { signal, report })
      if (wait === undefined) return report(undefined)
      log(wait.fields ?? {}, wait.message)
      reachedAt = performance.now()
    } catch (error) {
      if (signal.aborted) return
      if (isTableBusy(error)) {
        log({ err: error }, 'a table is in use; its migration is tried again')
        reachedAt = performance.now()
      } else if (options.awaitsOwner !== false && isRefusedLogin(error)) {
        log({ err: error }, 'the database refuses the login; waiting for the role to be made')
      } else if (mayComeYet(error) && performance.now() - reachedAt < reachableWithinMs) {
        log({ err: error }, 'database not reachable yet')
      } else throw error
    }
    await pause(tryEveryMs, signal)
  }
}

/** Why a start has to wait. */
type Wait = { readonly message: string; readonly fields?: object }

/** On a connection for this try alone. Undefined: the schema is there. */
async function tryOnce(database: Database, options: SchemaOptions, course: Course): Promise<Wait | undefined> {
  await database.checkSessions(course.signal)
  const alone = database.openAlone(course.signal)
  try {
    const tryIt = (await mayMigrate(alone)) ? tryAsOwner : tryAsUser
    const wait = await tryIt(alone, options, course)
    if (wait !== undefined) return wait
    // A pooler in transaction mode takes more connections than the server has.
    if (database.pooler === 'session') await warnOfRoom(alone, database.poolMax, options.logger)
    return undefined
  } finally {
    await alone.destroy() // and the lock with it
  }
}

async function tryAsOwner(alone: Db, options: SchemaOptions, { report }: Course): Promise<Wait | undefined> {
  const { logger, tableWaitMs = 3_000, migrations: list = migrations } = options
  const isOld = (await checkSchema(alone, list)) !== undefined
  if (!isOld && (await rolesThatLack(alone)).length === 0) return undefined
  report('schema is being migrated')
  await liftLimits(alone, tableWaitMs)
  const { rows } = await sql<{ ours: boolean }>`
    select pg_try_advisory_lock(hashtext('matte.migrate')) as ours`.execute(alone)
  if (rows[0]?.ours !== true) return { message: 'another replica migrates the schema; waiting for it' }
  const names = await migrateToLatest(alone, list)
  if (names.length > 0) logger.info({ migrations: names }, 'schema migrated')
  const roles = await grantMissing(alone)
  if (roles.length > 0) logger.info({ roles }, 'privileges granted')
  return undefined
}

/** Privileges come first: without them the role cannot read the version of the schema. */
async function tryAsUser(alone: Db, options: SchemaOptions, { report }: Course): Promise<Wait | undefined> {
  const missing = await missingPrivileges(alone, options.roles)
  const old = missing.length > 0 ? undefined : await checkSchema(alone, options.migrations)
  if (missing.length === 0 && old === undefined) return undefined
  if (options.awaitsOwner === false) {
    const problem = old ?? `the database user lacks privileges, such as ${missing[0]}`
    throw new ConfigError(`${problem}: run matte-admin database migrate with the URL of the owner of the tables`)
  }
  report(old ?? 'privileges are missing')
  const fields = { missing: missing.slice(0, shownMax) }
  return { message: 'waiting for matte-admin database migrate by the owner of the tables', fields }
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

/** The role may not be there yet: a step of the installation makes it, after migrations that may take hours. */
const isRefusedLogin = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^28(000|P01)$/.test(String(error.code))

const mayComeYet = (error: unknown): boolean => isDatabaseUnavailable(error) || isRefusedLogin(error)

/** Locked for too long, or wanted in the other order by a transaction of the build before. */
const isTableBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')
