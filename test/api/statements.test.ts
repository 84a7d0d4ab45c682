// What a task costs the database, counted by the database itself (pg_stat_statements), BEGIN and COMMIT left out.
// What runs by the clock (settings, models, use of keys) is left out by how seldom it runs.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { createDispatcher } from '../dispatcher/in-process.ts'
import { startApi, type TestApi } from '../support/api.ts'
import { createTestDatabase, makeTemplate, type TestDatabase } from '../support/database.ts'
import { startReceiver } from '../support/receiver.ts'
import { type OwnServer, ownPostgres } from '../support/servers.ts'
import { givenCaller, picture, succeed } from './given.ts'

const tasks = 50

let server: OwnServer
let database: TestDatabase
let api: TestApi

beforeAll(async () => {
  const dir = join(inject('runDir'), 'statements')
  mkdirSync(dir, { recursive: true, mode: 0o755 })
  const say = (line: string) => void process.stdout.write(`[servers] ${line}\n`)
  server = await ownPostgres({ dir, say }, undefined, { shared_preload_libraries: 'pg_stat_statements' })
  await makeTemplate(server.url)
  database = await createTestDatabase(server.url)
  await sql`create extension pg_stat_statements`.execute(database.db)
  await writeSetting(database.db, 'webhooks.allowedTargets', ['127.0.0.1:*'])
  api = await startApi({
    DATABASE_URL: database.url,
    PLANS: JSON.stringify({ pro: { concurrentTasks: 1_000, monthlyQuota: 1_000 } }),
  })
})
afterAll(async () => {
  await api?.stop()
  await database?.db.destroy()
  await server?.stop()
})

type Cost = { readonly perTask: number; readonly statements: readonly string[] }

async function countStatements(act: () => Promise<void>): Promise<Cost> {
  await sql`select pg_stat_statements_reset()`.execute(database.db)
  await act()
  const { rows } = await sql<{ calls: number; query: string }>`
    select calls::int, query from pg_stat_statements
      join pg_database d on d.oid = dbid and d.datname = current_database()
     where toplevel and query !~* '^\\s*(begin|commit|rollback|start)'`.execute(database.db)
  const each = rows.filter(({ calls }) => calls >= tasks / 5).toSorted((a, b) => b.calls - a.calls)
  return {
    perTask: each.reduce((sum, { calls }) => sum + calls, 0) / tasks,
    statements: each.map(({ calls, query }) => `${calls} × ${query.replace(/\s+/g, ' ').slice(0, 90)}`),
  }
}

describe('the database', () => {
  it('runs at most four statements for an accepted task, on a plan with quota and credits', async () => {
    const { client } = await givenCaller(database.db, api, { credits: 100 })
    const imageUrl = await client.upload(await picture())
    const cost = await countStatements(async () => {
      for (let i = 0; i < tasks; i++) await client.createTask({ imageUrl })
    })
    expect(cost.perTask, cost.statements.join('\n')).toBe(4)
  })

  it('runs at most fourteen over a task’s whole life, from creation to its delivered webhook', async () => {
    const { db } = database
    const { client } = await givenCaller(db, api, { credits: 100 })
    const imageUrl = await client.upload(await picture())
    const receiver = await startReceiver()
    const { due, stop } = createDispatcher(db, { masterKeys: api.config.masterKeys })
    await client.signingSecret() // made once for a workspace
    const cost = await countStatements(async () => {
      for (let i = 0; i < tasks; i++) {
        const { id } = await client.createTask({ imageUrl, callbackUrl: receiver.url })
        await succeed(db, id)
      }
      await due.start() // many deliveries are due at once, as under load: a look at the queue serves several
      await receiver.until(tasks)
    })
    await stop()
    await receiver.close()
    expect(cost.perTask, cost.statements.join('\n')).toBeLessThanOrEqual(14)
    expect(cost.perTask).toBeGreaterThanOrEqual(6) // else some were not counted
  })
})
