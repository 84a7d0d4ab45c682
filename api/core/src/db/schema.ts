// Migrates the schema at process start. One replica migrates on a connection without the pool's time limits; the
// others wait unready. If the migrating replica dies, its transaction rolls back and another replica starts again. A
// process whose role does not own the tables waits until the owner has migrated and granted its privileges (D89).
import { sql } from 'kysely'
import type { Logger } from 'pino'
import { ConfigError } from '../runtime/env.ts'
import type { Check } from '../runtime/health.ts'
import { pause, type Service } from '../runtime/service.ts'
import type { Database, Db } from './database.ts'
import { isDatabaseUnavailable } from './database-errors.ts'
import { checkSchema, type Migrations, migrateToLatest } from './migrate.ts'
import { migrations } from './migrations/index.ts'
import { grantMissing, rolesThatLack } from './roles/apply-roles.ts'
import { mayMigrate, missingPrivileges } from './roles/privileges.ts'
import type { ProcessRole } from './roles/table-rights.ts'
import { checkClock, warnOfLowLimit } from './start-checks.ts'

type SchemaOptions = {
  readonly logger: Logger
  readonly roles: readonly ProcessRole[]
  /** False fails the start instead of waiting for the owner of the tables. */
  readonly awaitsOwner?: boolean
  /** Time without a reachable database until the start fails. */
  readonly reachableWithinMs?: number
  /** Time that a migration waits for a table lock; other statements queue behind it. */
  readonly tableWaitMs?: number
  readonly migrations?: Migrations
}

/** Checks do not query during the start, so the pool stays empty beside the single connection. */
type Schema = Service & { readonly checks: Readonly<Record<'database' | 'clock', Check>> }

const tryEveryMs = 1_000
const logEveryMs = 5_000
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
      await starting.catch(() => undefined) // start() rejects with it
    },
    checks: {
      database: () => pending ?? checkSchema(db, options.migrations),
      clock: () => (pending === undefined ? checkClock(db) : 'not compared yet'),
    },
  }
}

type Progress = { readonly signal: AbortSignal; readonly report: (pending: string | undefined) => void }

async function bringUp(database: Database, options: SchemaOptions, { signal, report }: Progress): Promise<void> {
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
        log({ err: error }, 'a table is in use; retrying its migration')
        reachedAt = performance.now()
      } else if (options.awaitsOwner !== false && isRefusedLogin(error)) {
        log({ err: error }, 'the database rejects the login; waiting for the role')
      } else if (isRetryable(error) && performance.now() - reachedAt < reachableWithinMs) {
        log({ err: error }, 'database not reachable yet')
      } else throw error
    }
    await pause(tryEveryMs, signal)
  }
}

type Wait = { readonly message: string; readonly fields?: object }

async function tryOnce(database: Database, options: SchemaOptions, progress: Progress): Promise<Wait | undefined> {
  await database.checkSessions(progress.signal)
  const alone = database.openAlone(progress.signal)
  try {
    const tryIt = (await mayMigrate(alone)) ? tryAsOwner : tryAsUser
    const wait = await tryIt(alone, options, progress)
    if (wait !== undefined) return wait
    // A transaction pooler accepts more connections than the server.
    if (database.pooler === 'session') await warnOfLowLimit(alone, database.poolMax, options.logger)
    return undefined
  } finally {
    await alone.destroy() // releases the lock
  }
}

async function tryAsOwner(alone: Db, options: SchemaOptions, { report }: Progress): Promise<Wait | undefined> {
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

/** Checks privileges first, because the role may not be able to read the schema version. */
async function tryAsUser(alone: Db, options: SchemaOptions, { report }: Progress): Promise<Wait | undefined> {
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
 * Overrides limits of the role and the database. The idle limit frees the lock of a replica that hangs between
 * statements.
 */
async function liftLimits(db: Db, tableWaitMs: number): Promise<void> {
  await sql`
    select set_config('statement_timeout', '0', false), set_config('lock_timeout', ${String(tableWaitMs)}, false),
           set_config('idle_in_transaction_session_timeout', '60000', false)`.execute(db)
  await sql`set client_connection_check_interval = 1000`.execute(db).catch(() => undefined)
}

/** The installation may create the role later, after long migrations. */
const isRefusedLogin = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^28(000|P01)$/.test(String(error.code))

const isRetryable = (error: unknown): boolean => isDatabaseUnavailable(error) || isRefusedLogin(error)

/** Lock timeout, or a deadlock with the previous build. */
const isTableBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')
