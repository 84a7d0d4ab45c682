import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { ModelProperties } from '../db/tables/model.ts'

/** A public `modelVersion` and the model behind it. */
export type InstalledModel = {
  readonly name: string
  readonly pool: string
  readonly tritonModel: string
  /** True for at most one model, in the default pool. */
  readonly isDefault: boolean
  /** As reported by its pods; undefined keeps the last report. */
  readonly properties?: ModelProperties | undefined
}

export type ListedModel = Awaited<ReturnType<typeof listModels>>[number]

/** Always valid, and the default of an omitted `modelVersion` (D38). */
export const defaultModelVersion = 'service-v2'

export function listModels(db: Db) {
  return db
    .selectFrom('model')
    .select(['name', 'pool', 'triton_model as tritonModel', 'is_default as isDefault', 'available', 'properties'])
    .orderBy('name')
    .execute()
}

/**
 * Writes the installed models and returns whether anything changed. Safe to call from every replica: without a change
 * it is one small read, and one replica writes.
 * A removed model becomes unavailable: new tasks are rejected and open ones wait (D32) until its pool returns. Rows are
 * never deleted.
 */
export async function replaceModels(db: Db, models: readonly InstalledModel[]): Promise<boolean> {
  if (await isWritten(db, models)) return false
  return db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtext('matte.model'))`.execute(tx)
    if (await isWritten(tx, models)) return false
    const names = models.map(({ name }) => name)
    const pools = models.map(({ pool }) => pool)
    const tritonModels = models.map(({ tritonModel }) => tritonModel)
    const defaults = models.map(({ isDefault }) => isDefault)
    const properties = models.map((model) => (model.properties ? JSON.stringify(model.properties) : null))
    // Clears the old default first, because the unique index is checked row by row.
    await sql`
      update model set is_default = false, available = name = any(${names}::text[])
       where is_default or available and name <> all(${names}::text[])`.execute(tx)
    await sql`
      insert into model as m (name, pool, triton_model, is_default, available, properties)
      select name, pool, triton_model, is_default, true, properties::jsonb
        from unnest(${names}::text[], ${pools}::text[], ${tritonModels}::text[], ${defaults}::boolean[],
                    ${properties}::text[]) as i (name, pool, triton_model, is_default, properties)
      on conflict (name) do update
        set pool = excluded.pool, triton_model = excluded.triton_model, is_default = excluded.is_default,
            available = true,
            properties = coalesce(excluded.properties,
              case when (m.pool, m.triton_model) = (excluded.pool, excluded.triton_model) then m.properties end)
      where (m.pool, m.triton_model, m.is_default, m.available)
         <> (excluded.pool, excluded.triton_model, excluded.is_default, true)
         or m.properties is distinct from coalesce(excluded.properties, m.properties)`.execute(tx)
    return true
  })
}

async function isWritten(db: Db, models: readonly InstalledModel[]): Promise<boolean> {
  const listed = await listModels(db)
  const current = listed.filter(({ available, isDefault }) => available || isDefault)
  return (
    current.length === models.length &&
    models.every((model) => current.some((row) => row.available && isSame(row, model)))
  )
}

const isSame = (row: ListedModel, model: InstalledModel): boolean =>
  row.name === model.name &&
  row.pool === model.pool &&
  row.tritonModel === model.tritonModel &&
  row.isDefault === model.isDefault &&
  (model.properties === undefined || isDeepStrictEqual(row.properties, model.properties))
