import { defaultModelVersion, type InstalledModel } from './model-queries.ts'

export type ServedPool = {
  readonly pool: string
  readonly isDefault: boolean
  /** At least one. The pool may have no pods: a task wakes it. */
  readonly models: readonly {
    readonly modelVersion: string
    readonly tritonModel: string
    readonly isDefault: boolean
  }[]
}

/**
 * Models of these pools; the older pool wins a version and the default. `service-v2` is the version of that name,
 * else the pool of that name, else the default pool. Without any of them it has no row and its tasks wait.
 */
export function installedModels(pools: readonly ServedPool[]): InstalledModel[] {
  const defaultPool = pools.find(({ isDefault }) => isDefault)
  const leading = defaultPool && leadingModel(defaultPool)
  const models = new Map<string, InstalledModel>()
  for (const { pool, models: served } of pools) {
    for (const { modelVersion: name, tritonModel } of served) {
      const isDefault = pool === defaultPool?.pool && name === leading?.modelVersion
      if (!models.has(name)) models.set(name, { name, pool, tritonModel, isDefault })
    }
  }
  const standard = pools.find(({ pool }) => pool === defaultModelVersion) ?? defaultPool
  const model = standard && leadingModel(standard)
  if (standard && model && !models.has(defaultModelVersion)) {
    const { tritonModel } = model
    models.set(defaultModelVersion, { name: defaultModelVersion, pool: standard.pool, tritonModel, isDefault: false })
  }
  return [...models.values()]
}

const leadingModel = ({ models }: ServedPool) => models.find(({ isDefault }) => isDefault) ?? models[0]
