// A database per test file, cloned from a template that was migrated once. It is dropped after the file. When a test of
// the file failed, it is kept and its name printed.
import { randomBytes } from 'node:crypto'
import { type Database, type Db, openDatabase } from '@matte/core/db/database'
import { migrateToLatest } from '@matte/core/db/migrate'
import { sql } from 'kysely'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, inject } from 'vitest'
import { watchFailures } from './has-failed.ts'
import { closeProcessDbs, copyPrefix, knowUrl, makeRoles, template } from './roles.ts'

export type TestDatabase = {
  readonly name: string
  readonly db: Db
  readonly url: string
  drop(): Promise<void>
  /**
   * Its clock continues from `startsAt`, such as `2031-03-31T23:50:00Z`, on connections opened later: functions ahead
   * in the search path replace the server's. Column defaults keep the server's clock.
   */
  setClock(startsAt: string): Promise<void>
}

const logger = pino({ level: 'silent' })

/** A migrated database for the tests of the enclosing block. Read `db` and `url` inside tests and hooks only. */
export function useDatabase(serverUrl = inject('databaseUrl')): Pick<TestDatabase, 'db' | 'url'> {
  let database: TestDatabase | undefined
  const ready = (): TestDatabase => {
    if (database === undefined) throw new Error('the test database is there inside tests and hooks only')
    return database
  }
  const hasFailed = watchFailures()
  beforeAll(async () => {
    database = await createTestDatabase(serverUrl)
  })
  afterAll(async () => {
    if (database === undefined) return
    if (!hasFailed()) return database.drop()
    process.stdout.write(`database of failed tests: ${database.url}\n`)
    await closeProcessDbs(database.db)
    await database.db.destroy()
  })
  return {
    get db() {
      return ready().db
    },
    get url() {
      return ready().url
    },
  }
}

export async function createTestDatabase(serverUrl = inject('databaseUrl')): Promise<TestDatabase> {
  const name = `${copyPrefix}${randomBytes(6).toString('hex')}`
  await asAdmin(serverUrl, (client) => client.query(`create database ${name} template ${template}`))
  return openTestDatabase(serverUrl, name)
}

/** An empty database without any migration; `options` are those of CREATE DATABASE. */
export async function createEmptyDatabase(options = ''): Promise<TestDatabase> {
  const serverUrl = inject('databaseUrl')
  const name = `empty_${randomBytes(6).toString('hex')}`
  await asAdmin(serverUrl, (client) => client.query(`create database ${name} template template0 ${options}`))
  return openTestDatabase(serverUrl, name)
}

/** Another pool on a database, as a second process has. */
export const connectTo = (url: string, poolMax = 10): Database =>
  openDatabase({ url, poolMax, logger, applicationName: 'matte-test' })

export async function makeTemplate(serverUrl: string): Promise<void> {
  await asAdmin(serverUrl, (client) => client.query(`create database ${template} template template0`))
  const { db } = connectTo(urlOf(serverUrl, template), 1)
  try {
    await migrateToLatest(db)
    await makeRoles(db)
  } finally {
    await db.destroy()
  }
}

async function setClock(db: Db, name: string, startsAt: string): Promise<void> {
  await sql`create schema other_time`.execute(db)
  await sql`grant usage on schema other_time to public`.execute(db)
  const { rows } = await sql<{ ahead: string }>`
    select (extract(epoch from ${startsAt}::timestamptz - clock_timestamp()))::text as ahead`.execute(db)
  for (const clock of ['now', 'statement_timestamp', 'clock_timestamp']) {
    const body = `select pg_catalog.${clock}() + interval '${rows[0]?.ahead} s'`
    await sql
      .raw(`create function other_time.${clock}() returns timestamptz language sql stable as $$ ${body} $$`)
      .execute(db)
  }
  await sql.raw(`alter database ${name} set search_path = other_time, pg_catalog, public`).execute(db)
}

function openTestDatabase(serverUrl: string, name: string): TestDatabase {
  const url = urlOf(serverUrl, name)
  // More connections than a process opens: some tests claim or create fifty times at once.
  const { db } = connectTo(url, 60)
  knowUrl(db, url)
  const drop = async (): Promise<void> => {
    await closeProcessDbs(db)
    await db.destroy()
    // Forced, because a killed or stopped process under test may still have a connection.
    await asAdmin(serverUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
  }
  return { name, db, url, drop, setClock: (startsAt) => setClock(db, name, startsAt) }
}

const urlOf = (serverUrl: string, database: string): string =>
  Object.assign(new URL(serverUrl), { pathname: database }).href

async function asAdmin(serverUrl: string, act: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  try {
    await act(client)
  } finally {
    await client.end()
  }
}
