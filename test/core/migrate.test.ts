// Migrations run at the start of every process of every replica (D80).
import { checkClock } from '@matte/core/db/check-clock'
import { checkSchema, migrateAtStart, migrateToLatest } from '@matte/core/db/migrate'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { connectTo, createEmptyDatabase, databases, type TestDatabase } from '../support/database.ts'

for (const { version, url, missing } of databases()) {
  describe.skipIf(missing)(`migrations on PostgreSQL ${version}`, () => {
    const opened: TestDatabase[] = []
    const emptyDatabase = async (): Promise<TestDatabase> => {
      const database = await createEmptyDatabase(url)
      opened.push(database)
      return database
    }
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((database) => database.drop()))
    })

    it('bring an empty database to the schema of this build', async () => {
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

    it('are done once when eight replicas start together', async () => {
      const { db, url: databaseUrl } = await emptyDatabase()
      const replicas = Array.from({ length: 8 }, () => connectTo(databaseUrl, 2))
      const logger = pino({ level: 'silent' })
      await Promise.all(replicas.map((replica) => migrateAtStart(replica.db, logger)))
      await Promise.all(replicas.map((replica) => replica.stop()))
      expect(await checkSchema(db)).toBeUndefined()
      expect(await db.selectFrom('setting').select('name').execute()).toHaveLength(4)
    })

    it('leave nothing behind when one fails half-way, and succeed at the next start', async () => {
      const { db } = await emptyDatabase()
      // A leftover table with the name of one that the migration makes late.
      await db.schema.createTable('setting').addColumn('name', 'text').execute()
      await expect(migrateToLatest(db)).rejects.toThrow(/setting/)
      expect(await checkSchema(db)).toBe('schema is older than this build')
      await db.schema.dropTable('setting').execute()
      await migrateToLatest(db)
      expect(await checkSchema(db)).toBeUndefined()
    })

    it('find the clock of this machine and of the database alike', async () => {
      const { db } = await emptyDatabase()
      expect(await checkClock(db)).toBeUndefined()
    })
  })
}
