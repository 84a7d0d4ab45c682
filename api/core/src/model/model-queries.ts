import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

export type InstalledModel = {
  readonly name: string
  readonly pool: string
  readonly tritonModel: string
  readonly isDefault: boolean
}

/** The name that is always valid and the answer to an omitted `modelVersion` (D38). */
export const defaultModelVersion = 'service-v2'

export function listModels(db: Db) {
  return db
    .selectFrom('model')
    .select(['name', 'pool', 'triton_model as tritonModel', 'is_default as isDefault', 'available'])
    .orderBy('name')
    .execute()
}

/**
 * Makes the table say what this controller serves: its models are upserted, others stay listed as unavailable, so
 * that their waiting tasks are seen. `service-v2` is never removed. One transaction, repeatable by every replica.
 */
export async function replaceModels(db: Db, models: readonly InstalledModel[]): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtext('matte.model'))`.execute(tx)
    const names = models.map((model) => model.name)
    await tx.updateTable('model').set({ is_default: false }).where('is_default', '=', true).execute()
    await tx
      .updateTable('model')
      .set({ available: false })
      .where('name', 'not in', [...names, ''])
      .execute()
    for (const { name, pool, tritonModel, isDefault } of models) {
      const row = { pool, triton_model: tritonModel, is_default: isDefault, available: true }
      await tx
        .insertInto('model')
        .values({ name, ...row })
        .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
        .execute()
    }
  })
}
