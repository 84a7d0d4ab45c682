// Migrations run at the start of every process, forward only, expand before contract (D80): schema.ts says when.
import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { Db } from './database.ts'
import { migrations } from './migrations/index.ts'

/** Names of all migrations of this build, in their order. */
export const migrationNames: readonly string[] = Object.keys(migrations)

/** By name; a build's own unless a test says otherwise. */
export type Migrations = Readonly<Record<string, Migration>>

const newestOf = (list: Migrations): string => Object.keys(list).sort().at(-1) ?? ''

/**
 * Brings the schema up to this build's, each migration in a transaction of its own, so that none holds the tables of
 * another; safe to call from several processes at once, since Kysely takes an advisory lock. Throws when a step fails:
 * those before it stay.
 */
export async function migrateToLatest(db: Db, list: Migrations = migrations): Promise<readonly string[]> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...list }) },
    // A schema ahead of this build is normal while a newer release rolls out beside us.
    allowUnorderedMigrations: true,
  })
  if ((await checkSchema(db, list)) === undefined) return []
  const names: string[] = []
  for (;;) {
    const { error, results = [] } = await migrator.migrateUp()
    if (error) throw error
    if (results.length === 0) return names
    names.push(...results.map((result) => result.migrationName))
  }
}

/** For `/readyz`: undefined when the database answers and its schema is at least this build's. */
export async function checkSchema(db: Db, list: Migrations = migrations): Promise<string | undefined> {
  const names = await appliedNames(db)
  return names.has(newestOf(list)) ? undefined : 'schema is older than this build'
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
