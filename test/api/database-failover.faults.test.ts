// A failover that moves the address without a TCP reset: statements to the old server get no response, not even an
// error, while new connections reach the new one.
import type { Database } from '@matte/core/db/database'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApi, type TestApi } from '../support/api.ts'
import { connectTo, useDatabase } from '../support/database.ts'
import { givenCaller } from './given.ts'
import { type Relay, relay } from './relay.ts'

const database = useDatabase()
let path: Relay
let pool: Database
let api: TestApi

beforeAll(async () => {
  path = await relay(Number(new URL(database.url).port))
  const url = Object.assign(new URL(database.url), { port: path.port }).href
  pool = connectTo(url, 2)
  api = await startApi({ DATABASE_URL: url })
})
afterAll(async () => {
  await api.stop()
  await pool.stop()
  await path.close()
})

/** The driver gives up a statement after 35 s, and the following ROLLBACK after 35 s more. */
const driverLimitMs = 35_000

describe('after a failover without a reset', () => {
  it('callers get a retryable error long before the driver gives up, and are then served', async () => {
    const { client } = await givenCaller(database.db, api)
    const listMany = () =>
      Promise.all(Array.from({ length: 20 }, () => client.listTasks().catch((error: unknown) => error)))
    await listMany()
    path.hang()
    const begun = performance.now()
    const answers = await listMany()
    expect(performance.now() - begun).toBeLessThan(driverLimitMs / 2)
    const refused = answers.filter((answer) => answer instanceof Error)
    expect(refused.length).toBeGreaterThan(0)
    for (const error of refused as (Error & { headers: Headers })[]) {
      expect(Number(error.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    }
    expect((await listMany()).filter((answer) => answer instanceof Error)).toEqual([])
  })

  it('a transaction fails without waiting for its rollback, and the next caller has another connection', async () => {
    const begun = performance.now()
    const transaction = pool.db.transaction().execute(async (tx) => {
      await sql`select 1`.execute(tx)
      path.hang()
      await sql`select 1`.execute(tx)
    })
    await expect(transaction).rejects.toThrow()
    expect((await sql`select 1 as one`.execute(pool.db)).rows).toEqual([{ one: 1 }])
    expect(performance.now() - begun).toBeLessThan(driverLimitMs / 2)
  })

  it('a slow statement and one that waits for a lock are not aborted', async () => {
    const { db } = pool
    const slow = sql`select pg_sleep(6)`.execute(db)
    const key = sql.lit(4_711)
    const locked = database.db.connection().execute(async (holder) => {
      await sql`select pg_advisory_lock(${key})`.execute(holder)
      const waiting = sql`select pg_advisory_xact_lock(${key})`.execute(db)
      await slow
      await sql`select pg_advisory_unlock(${key})`.execute(holder)
      return waiting
    })
    await expect(locked).resolves.toMatchObject({ rows: [{}] })
  })
})
