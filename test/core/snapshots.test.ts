// psql accepts each file of compiled SQL.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'

const snapshotsDir = join(import.meta.dirname, '../../api/core/src/db/snapshots')
const files = globSync('**/*.sql', { cwd: snapshotsDir })

describe('psql can prepare', () => {
  const database = useDatabase()

  it.each(files)('%s', async (file) => {
    const text = readFileSync(join(snapshotsDir, file), 'utf8')
    const names = await database.db.connection().execute(async (connection) => {
      await sql.raw(text).execute(connection)
      const { rows } = await sql<{ name: string }>`
          select name from pg_prepared_statements where from_sql`.execute(connection)
      await sql`deallocate all`.execute(connection)
      return rows.map(({ name }) => name)
    })
    expect(names).toHaveLength(text.match(/^prepare /gm)?.length ?? 0)
    expect(names.length).toBeGreaterThan(0)
  })
})
