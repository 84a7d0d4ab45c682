// Migrations run at the start of every process of every replica (D80).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '@matte/core/db/database'
import { checkSchema, type Migrations, migrateToLatest } from '@matte/core/db/migrate'
import { migrations } from '@matte/core/db/migrations/index'
import { schemaAtStart } from '@matte/core/db/schema'
import { checkClock } from '@matte/core/db/start-checks'
import { deferred } from '@matte/core/runtime/service'
import { rootDir } from '@matte/local/paths'
import { type Kysely, sql } from 'kysely'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { connectTo, createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const logger = pino({ level: 'silent' })

/** Log of a process, line by line. */
function recordingLogger() {
  const lines: string[] = []
  return { lines, logger: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) }) }
}

describe('migrations', () => {
  const opened: TestDatabase[] = []
  const emptyDatabase = async (): Promise<TestDatabase> => {
    const database = await createEmptyDatabase()
    opened.push(database)
    return database
  }
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((database) => database.drop()))
  })

  it('create the schema of this build in an empty database', async () => {
    const { db } = await emptyDatabase()
    expect(await checkSchema(db)).toBe('schema is older than this build')
    expect(await migrateToLatest(db)).not.toEqual([])
    expect(await checkSchema(db)).toBeUndefined()
    expect(await db.selectFrom('model').select(['name', 'is_default']).execute()).toEqual([
      { name: 'service-v2', is_default: true },
    ])
  })

  it('change nothing the second time', async () => {
    const { db } = await emptyDatabase()
    await migrateToLatest(db)
    expect(await migrateToLatest(db)).toEqual([])
  })

  it('run once when eight replicas start together', async () => {
    const { db, url: databaseUrl } = await emptyDatabase()
    const replicas = Array.from({ length: 8 }, () => connectTo(databaseUrl, 2))
    await Promise.all(replicas.map((replica) => schemaAtStart(replica, { logger, roles: ['api'] }).start()))
    await Promise.all(replicas.map((replica) => replica.stop()))
    expect(await checkSchema(db)).toBeUndefined()
    expect(await db.selectFrom('setting').select('name').execute()).toHaveLength(4)
  })

  it('add one that an earlier build did not have, although later ones are applied', async () => {
    const { db, url } = await emptyDatabase()
    const { '0040-doors': _doors, ...others } = migrations
    await migrateToLatest(db, others)
    expect(await checkSchema(db)).toBe('schema is older than this build')
    const log = recordingLogger()
    const replica = connectTo(url, 2)
    await schemaAtStart(replica, { logger: log.logger, roles: ['api'] }).start()
    await replica.stop()
    expect(log.lines).toContain('schema migrated')
    expect(await checkSchema(db)).toBeUndefined()
    expect(await db.selectFrom('upload_fetch').select('id').execute()).toEqual([])
  })

  it('keep an index that the operator built before, as the page about upgrades says', async () => {
    const { db } = await emptyDatabase()
    const before = Object.entries(migrations).filter(([name]) => name < '0048')
    await migrateToLatest(db, Object.fromEntries(before))
    const page = readFileSync(join(rootDir, 'docs/operations/upgrade.md'), 'utf8')
    const [build = '', check = ''] = /^```sql\n(.*?)^```$/ms.exec(page)?.[1]?.split(/;\n/) ?? []
    await sql.raw(build).execute(db)
    expect((await sql.raw(check).execute(db)).rows).toEqual([{ indisvalid: true }])
    const definitions = sql<{ oid: number; definition: string }>`
      select indexrelid::int as oid, pg_get_indexdef(indexrelid) as definition from pg_index
       where indexrelid = 'task_open_age'::regclass`
    const built = await definitions.execute(db)
    await migrateToLatest(db)
    expect((await definitions.execute(db)).rows).toEqual(built.rows)

    const fresh = await emptyDatabase()
    await migrateToLatest(fresh.db)
    const [own] = (await definitions.execute(fresh.db)).rows
    expect(own?.definition).toBe(built.rows[0]?.definition)
  })

  it('leave nothing behind when one fails half-way, and succeed at the next start', async () => {
    const { db } = await emptyDatabase()
    // A leftover table with the name of one that the migration creates late.
    await db.schema.createTable('setting').addColumn('name', 'text').execute()
    await expect(migrateToLatest(db)).rejects.toThrow(/setting/)
    expect(await checkSchema(db)).toBe('schema is older than this build')
    await db.schema.dropTable('setting').execute()
    await migrateToLatest(db)
    expect(await checkSchema(db)).toBeUndefined()
  })

  it('consider equal the clocks of this machine and of the database', async () => {
    const { db } = await emptyDatabase()
    expect(await checkClock(db)).toBeUndefined()
  })

  /** A migrated database, and replicas of a newer build whose next migration runs the test's code. */
  async function givenNewerBuild(up: (db: Kysely<unknown>) => Promise<unknown>) {
    const database = await createTestDatabase()
    opened.push(database)
    const replicas: Database[] = []
    const slow: Migrations = { '9999-slow': { up: async (db) => void (await up(db)) } }
    const applied = await sql<{ name: string }>`select name from kysely_migration`.execute(database.db)
    const known = Object.fromEntries(applied.rows.map(({ name }) => [name, { up: async () => undefined }]))
    const open = (options: Partial<Parameters<typeof schemaAtStart>[1]> = {}) => {
      const replica = connectTo(database.url, 2)
      replicas.push(replica)
      return schemaAtStart(replica, { logger, roles: ['api'], migrations: { ...known, ...slow }, ...options })
    }
    const close = () => Promise.all(replicas.map((replica) => replica.stop()))
    const isMigrated = async () => {
      const { rows } = await sql`select from kysely_migration where name = '9999-slow'`.execute(database.db)
      return rows.length === 1
    }
    return { ...database, open, close, isMigrated }
  }
  const pending = 'schema is being migrated'

  it('may take longer than any statement timeout of database or role', async () => {
    const { db, name, open, close, isMigrated } = await givenNewerBuild((tx) => sql`select pg_sleep(1)`.execute(tx))
    await sql.raw(`alter database ${name} set statement_timeout = '200ms'`).execute(db)
    await open().start()
    expect(await isMigrated()).toBe(true)
    await close()
  })

  it('make other replicas wait, which report it and are not ready meanwhile', async () => {
    const may = deferred<void>()
    let runs = 0
    const { open, close, isMigrated } = await givenNewerBuild(async () => {
      runs += 1
      await may.promise
    })
    const first = open()
    const second = recordingLogger()
    const waiting = open({ logger: second.logger })
    expect(first.checks.database()).toBe('database not reached yet')
    const firstStart = first.start()
    await until('the first one migrates', () => runs === 1)
    const secondStart = waiting.start()
    const says = 'another replica migrates the schema; waiting for it'
    await until('the second one waits', () => second.lines.includes(says))
    expect([first.checks.database(), waiting.checks.database()]).toEqual([pending, pending])
    may.resolve()
    await Promise.all([firstStart, secondStart])
    expect([await first.checks.database(), await waiting.checks.database()]).toEqual([undefined, undefined])
    expect([runs, await isMigrated()]).toEqual([1, true])
    await close()
  })

  it('stop with their process, as does a replica that waits for them', async () => {
    const { db, open, close, isMigrated } = await givenNewerBuild((tx) => sql`select pg_sleep(600)`.execute(tx))
    const sleeping = async (): Promise<boolean> => {
      const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and query like 'select pg_sleep%'`.execute(db)
      return rows.length > 0
    }
    const first = open()
    const firstStart = first.start()
    await until('the first one migrates', sleeping)
    const waiting = open()
    const secondStart = waiting.start()
    await until('the second one waits', () => waiting.checks.database() === pending)
    await waiting.stop()
    await secondStart
    await first.stop()
    await firstStart
    await until('the server has given the migration up', async () => !(await sleeping()))
    expect(await isMigrated()).toBe(false)
    await close()
  })

  it('wait for a busy table without blocking others for long', async () => {
    const { db, open, close, isMigrated } = await givenNewerBuild((tx) =>
      sql`alter table model add column later text`.execute(tx),
    )
    const { lines, logger } = recordingLogger()
    const schema = open({ logger, tableWaitMs: 100 })
    await db.transaction().execute(async (reader) => {
      await sql`select from model`.execute(reader)
      void schema.start()
      await until('it tried', () => lines.includes('a table is in use; retrying its migration'))
      await db.selectFrom('model').select('name').execute()
    })
    await until('the table is altered', isMigrated)
    await schema.stop()
    await close()
  })

  it('restart when a transaction of the previous build locked the same tables in another order', async () => {
    const locked = Promise.withResolvers<void>()
    const { db, open, close, isMigrated } = await givenNewerBuild(async (tx) => {
      // So PostgreSQL cancels this transaction and not the other.
      await sql`set local deadlock_timeout = '10ms'`.execute(tx)
      await sql`alter table delivery add column later text`.execute(tx)
      locked.resolve()
      await sql`alter table workspace add column later text`.execute(tx)
    })
    const { lines, logger } = recordingLogger()
    const schema = open({ logger, tableWaitMs: 60_000 })
    await db.transaction().execute(async (old) => {
      await sql`set local deadlock_timeout = '60s'`.execute(old)
      await sql`select from workspace`.execute(old)
      void schema.start()
      await locked.promise
      await sql`select from delivery`.execute(old)
    })
    await until('the tables are altered', isMigrated)
    expect(lines).toContain('a table is in use; retrying its migration')
    await schema.stop()
    await close()
  })

  it('of a newer build do not stop an older one', async () => {
    const { db, url: databaseUrl } = await emptyDatabase()
    await migrateToLatest(db)
    await sql`insert into kysely_migration (name, timestamp) values ('9999-newer', '2030-01-01')`.execute(db)
    const replica = connectTo(databaseUrl, 2)
    const schema = schemaAtStart(replica, { logger, roles: ['api'] })
    await schema.start()
    expect(await schema.checks.database()).toBeUndefined()
    await replica.stop()
  })

  it('warn when the server allows fewer connections than the process may open', async () => {
    const { db, name, url: databaseUrl } = await emptyDatabase()
    await sql.raw(`alter database ${name} connection limit 3`).execute(db)
    const warnings = await Promise.all(
      [3, 4].map(async (poolMax) => {
        const { lines, logger } = recordingLogger()
        const replica = connectTo(databaseUrl, poolMax)
        await schemaAtStart(replica, { logger, roles: ['api'] }).start()
        await replica.stop()
        return lines.filter((line) => line.startsWith('DATABASE_POOL_MAX is above what the server allows')).length
      }),
    )
    expect(warnings).toEqual([0, 1])
  })
})
