// Number of database connections per process, counted by the server with a connection-limited role for each process.
import { randomBytes } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import { afterAll, afterEach, describe, expect, inject, it } from 'vitest'
import { startApi } from '../support/api.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'
import type { TestProcess } from '../support/processes.ts'
import { useStack } from '../support/stack.ts'
import { until } from '../support/until.ts'
import { givenCaller, smallImage } from './given.ts'

const roles: string[] = []

/** A role with this connection limit on the database; returns its URL. */
async function givenRole(db: Db, connectionsMax: number): Promise<string> {
  const role = `r_${randomBytes(6).toString('hex')}`
  roles.push(role)
  await sql.raw(`create role ${role} login password 'test' connection limit ${connectionsMax}`).execute(db)
  await sql.raw(`grant all on schema public to ${role}`).execute(db)
  await sql.raw(`grant all on all tables in schema public to ${role}`).execute(db)
  await sql.raw(`grant all on all sequences in schema public to ${role}`).execute(db)
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  const url = { username: role, password: 'test', pathname: rows[0]?.name ?? '' }
  return Object.assign(new URL(inject('databaseUrl')), url).href
}

async function dropRoles(db: Db): Promise<void> {
  for (const role of roles.splice(0)) {
    await sql.raw(`drop owned by ${role}`).execute(db)
    await sql.raw(`drop role ${role}`).execute(db)
  }
}

describe('DATABASE_POOL_MAX', () => {
  const stack = useStack({ processes: [] })
  afterAll(() => dropRoles(stack.db))

  it('is the maximum of each process, with every slot busy', async () => {
    const processes: TestProcess[] = []
    for (const name of ['api', 'worker', 'dispatcher'] as const) {
      const url = await givenRole(stack.db, 2)
      processes.push(await stack.start(name, { DATABASE_POOL_MAX: '2', DATABASE_URL: url }))
    }
    const { client } = stack
    const imageUrl = await client.upload(await smallImage())
    const callbackUrl = 'http://127.0.0.1:1/nobody'
    await Promise.all(Array.from({ length: 20 }, () => client.createTask({ imageUrl, callbackUrl })))
    await until('all have succeeded and were announced', async () => {
      const { rows } = await sql<{ tasks: number; attempts: number }>`
        select (select count(*) from task where status = 'succeeded') as tasks,
               (select count(distinct delivery_id) from delivery_attempt) as attempts`.execute(stack.db)
      return rows[0]?.tasks === 20 && rows[0].attempts === 20
    })
    for (const process of processes) {
      expect(process.log().filter((line) => JSON.stringify(line).includes('too many connections'))).toEqual([])
      await process.stop()
    }
  })
})

describe('an API', () => {
  let database: TestDatabase
  afterEach(async () => {
    await dropRoles(database.db)
    await database.drop()
  })

  it('migrates and serves with a single connection', async () => {
    database = await createEmptyDatabase()
    const url = await givenRole(database.db, 1)
    const api = await startApi({ DATABASE_URL: url, DATABASE_POOL_MAX: '1' })
    const { client } = await givenCaller(database.db, api)
    await Promise.all(Array.from({ length: 20 }, () => client.listTasks()))
    await api.stop()
  })

  it('serves with the connections that the server has left', async () => {
    database = await createTestDatabase()
    const url = await givenRole(database.db, 3)
    const api = await startApi({ DATABASE_URL: url, DATABASE_POOL_MAX: '10' })
    const { client } = await givenCaller(database.db, api)
    const answers = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) =>
        index % 2 ? client.listTasks() : client.presign({ fileName: 'a.png', contentType: 'image/png' }),
      ),
    )
    expect(answers.filter(({ status }) => status === 'rejected')).toEqual([])
    await api.stop()
  })
})
