import { defaultModelVersion, type InstalledModel } from './model-queries.ts'

export type ServedPool = {
  readonly pool: string
  readonly isDefault: boolean
  /** One at least. Whether the pool has pods does not matter: at zero a task wakes it (D38). */
  readonly models: readonly {
    readonly modelVersion: string
    readonly tritonModel: string
    readonly isDefault: boolean
  }[]
}

/**
 * What these pools come to, oldest pool first: of two that name the same version, and of two defaults, the older wins.
 * `service-v2` is the version so called, else the pool so called, else the default pool, each by its default model or
 * its first; without any of them it has no row here, and its tasks wait.
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
