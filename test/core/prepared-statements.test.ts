// Statements that come again are prepared; a table that a newer release alters meanwhile must not break them.

import type { Database } from '@matte/core/db/database'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectTo, databases, useDatabase } from '../support/database.ts'

for (const { version, url, missing } of databases()) {
  describe.skipIf(missing)(`statements on PostgreSQL ${version}`, () => {
    const database = useDatabase(url)
    let pool: Database
    let columns = 0
    beforeAll(() => {
      pool = connectTo(database.url, 1)
    })
    afterAll(() => pool.stop())

    const read = (db = pool.db) => db.selectFrom('setting').selectAll().where('name', '=', 'maintenance').execute()
    const prepared = async (): Promise<number> =>
      (
        await sql<{ count: number }>`
          select count(*)::int as count from pg_prepared_statements where statement like '%from "setting"%'`.execute(
          pool.db,
        )
      ).rows[0]?.count ?? 0
    const alter = () => sql.raw(`alter table setting add column more_${++columns} text`).execute(database.db)

    it('are prepared once they come again', async () => {
      for (let i = 0; i < 5; i++) await read()
      expect(await prepared()).toBe(1)
    })

    it('go on over a table that was altered', async () => {
      for (let i = 0; i < 5; i++) await read()
      await alter()
      for (let i = 0; i < 5; i++) expect(await read()).toHaveLength(1)
      expect(await prepared()).toBe(1)
    })

    it('fail at most once where a transaction meets the altered table', async () => {
      for (let i = 0; i < 5; i++) await read()
      await alter()
      const inTransaction = () => pool.db.transaction().execute((tx) => read(tx))
      const outcomes = await Promise.allSettled([inTransaction()])
      expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeLessThanOrEqual(1)
      for (let i = 0; i < 5; i++) expect(await inTransaction()).toHaveLength(1)
    })
  })
}
