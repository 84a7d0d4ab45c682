// The table of models as written by every replica of the controller (D38).
import { type InstalledModel, listModels, replaceModels } from '@matte/core/model/model-queries'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'

const model = (name: string, pool = 'one', isDefault = false): InstalledModel => ({
  name,
  pool,
  tritonModel: `${pool}-model`,
  isDefault,
})

describe('replaceModels', () => {
  const database = useDatabase()
  beforeEach(async () => {
    await sql`delete from model where name <> 'service-v2'`.execute(database.db)
    await sql`update model set pool = 'default', is_default = true, available = false`.execute(database.db)
  })

  /** `name@pool`, in brackets while unavailable, with a star at the default. */
  const table = async (): Promise<string[]> =>
    (await listModels(database.db)).map(({ name, pool, available, isDefault }) => {
      const text = `${name}@${pool}${isDefault ? '*' : ''}`
      return available ? text : `(${text})`
    })

  it('writes the models of several pools with one default', async () => {
    const models = [model('v1'), model('v2', 'one', true), model('v3', 'two'), model('service-v2')]
    expect(await replaceModels(database.db, models)).toBe(true)
    expect(await table()).toEqual(['service-v2@one', 'v1@one', 'v2@one*', 'v3@two'])
  })

  it('moves the default, and a version to another pool', async () => {
    await replaceModels(database.db, [model('v1', 'one', true), model('v2')])
    await replaceModels(database.db, [model('v1', 'two'), model('v2', 'one', true)])
    expect(await table()).toEqual(['(service-v2@default)', 'v1@two', 'v2@one*'])
  })

  it('keeps metadata of a model while no pod reports any, and deletes it with the model', async () => {
    const properties = { inputSize: 320, views: 1, form: null, licence: 'MIT', speed: 'fast' } as const
    const said = async () => (await listModels(database.db)).find(({ name }) => name === 'v1')?.properties
    await replaceModels(database.db, [model('v1')])
    expect(await said()).toBeNull()
    expect(await replaceModels(database.db, [{ ...model('v1'), properties }])).toBe(true)
    expect(await said()).toEqual(properties)
    expect(await replaceModels(database.db, [{ ...model('v1'), properties }])).toBe(false)
    expect(await replaceModels(database.db, [model('v1')])).toBe(false)
    await replaceModels(database.db, [model('v1', 'one', true)])
    expect(await said()).toEqual(properties)
    await replaceModels(database.db, [{ ...model('v1'), properties: { ...properties, inputSize: 1024 } }])
    expect(await said()).toEqual({ ...properties, inputSize: 1024 })
    await replaceModels(database.db, [model('v1', 'two')])
    expect(await said()).toBeNull()
  })

  it('keeps a model that disappeared as unavailable, and makes it available when it is back', async () => {
    await replaceModels(database.db, [model('v1', 'one', true), model('v2')])
    await replaceModels(database.db, [model('v2')])
    expect(await table()).toEqual(['(service-v2@default)', '(v1@one)', 'v2@one'])
    await replaceModels(database.db, [])
    expect(await table()).toEqual(['(service-v2@default)', '(v1@one)', '(v2@one)'])
    await replaceModels(database.db, [model('v1', 'two')])
    expect(await table()).toEqual(['(service-v2@default)', 'v1@two', '(v2@one)'])
  })

  it('writes nothing without a change, in any order', async () => {
    const models = [model('v1'), model('v2', 'two', true)]
    await replaceModels(database.db, [model('gone'), ...models])
    await replaceModels(database.db, models)
    const rowVersions = async () =>
      (await sql`select name, ctid, xmin from model order by name`.execute(database.db)).rows
    const before = await rowVersions()
    expect(await replaceModels(database.db, models.toReversed())).toBe(false)
    expect(await rowVersions()).toEqual(before)
  })

  it('updates changed rows only', async () => {
    await replaceModels(database.db, [model('v1', 'one', true), model('v2'), model('v3')])
    const xmin = async (name: string) =>
      (await sql<{ xmin: string }>`select xmin::text from model where name = ${name}`.execute(database.db)).rows
    const before = await xmin('v2')
    expect(await replaceModels(database.db, [model('v1', 'one', true), model('v2'), model('v3', 'two')])).toBe(true)
    expect(await xmin('v2')).toEqual(before)
  })

  it('writes once when eight replicas see a change at once', async () => {
    const models = [model('v1', 'one', true), model('v2'), model('service-v2')]
    const written = await Promise.all(Array.from({ length: 8 }, () => replaceModels(database.db, models)))
    expect(written.filter(Boolean)).toHaveLength(1)
    expect(await table()).toEqual(['service-v2@one', 'v1@one*', 'v2@one'])
  })
})
