// Pools that the operator does not report: local mode, `MODELS_STATIC`, or an operator that has not run yet. Their
// models come from the workers and their demand from the tasks. The scaling rule does not apply to them.
import type { Db } from '../db/database.ts'
import { listModels } from '../model/model-queries.ts'
import type { PoolDemand } from '../scale/demand-queries.ts'
import { readDemand } from '../scale/demand-queries.ts'
import type { Plans } from '../workspace/plan.ts'

export type UnreportedPool = {
  readonly pool: string
  readonly models: readonly string[]
  readonly demand: PoolDemand | undefined
}

export async function listUnreportedPools(
  db: Db,
  plans: Plans,
  reported: ReadonlySet<string>,
): Promise<UnreportedPool[]> {
  const models = (await listModels(db)).filter(({ available, pool }) => available && !reported.has(pool))
  const pools = [...Map.groupBy(models, ({ pool }) => pool)].map(([pool, of]) => ({
    pool,
    modelVersions: of.map(({ name }) => name),
  }))
  const demand = await readDemand(db, { plans, pools })
  return pools.map(({ pool, modelVersions }) => ({ pool, models: modelVersions, demand: demand.get(pool) }))
}
