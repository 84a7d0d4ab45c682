import type { Database } from '@matte/core/db/database'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

describe('a connection that is lost between two statements of a transaction', () => {
  const database = useDatabase()
  let pool: Database
  beforeAll(() => {
    pool = connectTo(database.url, 1)
  })
  afterAll(() => pool.stop())

  // Without a listener on the connection, its error would end the process: vitest reports it as uncaught.
  it('fails the transaction and nothing else', async () => {
    const { db } = pool
    const transaction = db.transaction().execute(async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
      const pid = rows[0]?.pid
      await sql`select pg_terminate_backend(${pid}::int)`.execute(database.db)
      await until('the backend is gone', async () => {
        const left = await sql`select 1 from pg_stat_activity where pid = ${pid}`.execute(database.db)
        return left.rows.length === 0
      })
      await until('the loss has arrived here', () => new Promise((resolve) => setImmediate(resolve, true)))
      await sql`select 1`.execute(tx)
    })
    await expect(transaction).rejects.toThrow()
    expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }])
  })
})
