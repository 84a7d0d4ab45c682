// Migrations run at the start of every process, forward only, expand before contract (D80). Kysely takes an
// advisory lock of the transaction, so that replicas that start together do the work once; if one dies half-way,
// the transaction is rolled back and the next start begins again.
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import type { Logger } from 'pino'
import { pause } from '../runtime/service.ts'
import { type Db, isDatabaseUnavailable } from './database.ts'
import { migrations } from './migrations/index.ts'

const newest = Object.keys(migrations).sort().at(-1) ?? ''

/** Brings the schema up to this build's; safe to call from several processes at once. Throws when a step fails. */
export async function migrateToLatest(db: Db): Promise<readonly string[]> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...migrations }) },
    // A schema ahead of this build is normal while a newer release rolls out beside us.
    allowUnorderedMigrations: true,
  })
  const known = await appliedNames(db)
  if (known.has(newest)) return []
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error) throw error
  return results.map((result) => result.migrationName)
}

/** Waits for the database, then migrates; gives up with the last error after `limitMs`. */
export async function migrateAtStart(db: Db, logger: Logger, limitMs = 60_000): Promise<void> {
  const deadline = performance.now() + limitMs
  for (;;) {
    try {
      const names = await migrateToLatest(db)
      if (names.length > 0) logger.info({ migrations: names }, 'schema migrated')
      return
    } catch (error) {
      if (!isDatabaseUnavailable(error) || performance.now() > deadline) throw error
      logger.warn({ err: error }, 'database not reachable yet')
      await pause(500)
    }
  }
}

/** For `/readyz`: undefined when the database answers and its schema is at least this build's. */
export async function checkSchema(db: Db): Promise<string | undefined> {
  const names = await appliedNames(db)
  return names.has(newest) ? undefined : 'schema is older than this build'
}

async function appliedNames(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select name from kysely_migration`
    .execute(db)
    .catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === '42P01') return { rows: [] } // no such table yet
      throw error
    })
  return new Set(rows.map((row) => row.name))
}
