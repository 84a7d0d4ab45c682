// Repeated statements are prepared, and survive a table change by a newer release.

import type { Database, Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectTo, useDatabase } from '../support/database.ts'

describe('statements', () => {
  const database = useDatabase()
  let columns = 0
  async function alter(): Promise<string> {
    const column = `more_${++columns}`
    await sql`alter table setting add column ${sql.ref(column)} text`.execute(database.db)
    return column
  }

  /** A separate pool, with nothing prepared. */
  function usePool(connections: number): { readonly db: Db } {
    let pool: Database | undefined
    beforeAll(() => {
      pool = connectTo(database.url, connections)
    })
    afterAll(() => pool?.stop())
    return {
      get db() {
        if (pool === undefined) throw new Error('the pool is there inside tests only')
        return pool.db
      },
    }
  }
  const read = (db: Db) => db.selectFrom('setting').selectAll().where('name', '=', 'maintenance').execute()
  const readInTransaction = (db: Db) => db.transaction().execute(read)
  /** Statements that the connection has prepared for `read`. */
  async function countPrepared(db: Db): Promise<number> {
    const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from pg_prepared_statements where statement like '%from "setting"%'`.execute(db)
    return rows[0]?.count ?? 0
  }
  /** One transaction on each connection of the pool, all open at the same time. */
  async function onEachConnection(db: Db, count: number, act: (tx: Db) => Promise<unknown>) {
    const all = Promise.withResolvers<void>()
    let begun = 0
    const one = () =>
      db.transaction().execute(async (tx) => {
        begun += 1
        if (begun === count) all.resolve()
        await all.promise
        return act(tx)
      })
    return Promise.allSettled(Array.from({ length: count }, one))
  }

  describe('on one connection', () => {
    const pool = usePool(1)

    it('are prepared when repeated, and once', async () => {
      await read(pool.db)
      expect(await countPrepared(pool.db)).toBe(0)
      await read(pool.db)
      expect(await countPrepared(pool.db)).toBe(1)
      for (let i = 0; i < 5; i++) await read(pool.db)
      expect(await countPrepared(pool.db)).toBe(1)
    })

    it('continue on an altered table', async () => {
      for (let i = 0; i < 2; i++) await read(pool.db)
      expect(await countPrepared(pool.db)).toBe(1)
      const column = await alter()
      for (let i = 0; i < 5; i++) expect(await read(pool.db)).toEqual([expect.objectContaining({ [column]: null })])
      expect(await countPrepared(pool.db)).toBe(1)
    })
  })

  it('fail once in a transaction that meets the altered table, and on no other connection', async () => {
    const connections = 3
    const pool = connectTo(database.url, connections)
    try {
      const prepared: number[] = []
      await onEachConnection(pool.db, connections, async (tx) => {
        for (let i = 0; i < 2; i++) await read(tx)
        prepared.push(await countPrepared(tx))
      })
      expect(prepared).toEqual([1, 1, 1])
      await alter()
      await expect(readInTransaction(pool.db)).rejects.toMatchObject({ code: '0A000' })
      const outcomes = await onEachConnection(pool.db, connections, read)
      expect(outcomes).toEqual(Array(connections).fill({ status: 'fulfilled', value: [expect.anything()] }))
    } finally {
      await pool.stop()
    }
  })
})
