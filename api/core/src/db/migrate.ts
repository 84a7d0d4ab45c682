// Migrations run at process start, forward only, expand before contract (D80); see schema.ts.
import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { Db } from './database.ts'
import { migrations } from './migrations/index.ts'

export const migrationNames: readonly string[] = Object.keys(migrations)

export type Migrations = Readonly<Record<string, Migration>>

/** Migrates, one transaction per migration. Safe from several processes: Kysely takes an advisory lock. */
export async function migrateToLatest(db: Db, list: Migrations = migrations): Promise<readonly string[]> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => ({ ...list }) },
    // During a rollout the schema may be ahead of this build.
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

/** For `/readyz`: undefined if the schema has every migration of this build, and possibly later ones. */
export async function checkSchema(db: Db, list: Migrations = migrations): Promise<string | undefined> {
  const names = await appliedNames(db)
  return Object.keys(list).every((name) => names.has(name)) ? undefined : 'schema is older than this build'
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
