import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { ModelProperties } from '../db/tables/model.ts'

/** A public `modelVersion` and who answers for it. */
export type InstalledModel = {
  readonly name: string
  readonly pool: string
  /** Its name in the model repository. */
  readonly tritonModel: string
  /** Of the default pool's models the one that stands for it; one at the most. */
  readonly isDefault: boolean
  /** As its pods report them; undefined: none does now, and what was reported last stays. */
  readonly properties?: ModelProperties | undefined
}

export type ListedModel = Awaited<ReturnType<typeof listModels>>[number]

/** The name that is always valid and the answer to an omitted `modelVersion` (D38). */
export const defaultModelVersion = 'service-v2'

export function listModels(db: Db) {
  return db
    .selectFrom('model')
    .select(['name', 'pool', 'triton_model as tritonModel', 'is_default as isDefault', 'available', 'properties'])
    .orderBy('name')
    .execute()
}

/**
 * Makes the table say what is installed, each name once; true when something had to be written. Every replica may
 * call it as often as it likes: as long as nothing has changed it is one small read, and of those who see a change at
 * once one writes.
 *
 * A model that is installed no more stays as unavailable: new tasks are refused, while its open ones wait (D32) and a
 * failed one may be retried, until its pool comes back. Rows never go; there are as many as people ever gave names.
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
    // The default is unset before it is set: the index that allows one default only is checked row by row.
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

/** Whether the table's available rows are these models, and no other is the default. */
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
