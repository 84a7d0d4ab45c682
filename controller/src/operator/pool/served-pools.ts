// Which pool serves which model version: of several that name the same one the oldest.
import { installedModels } from '@matte/core/model/installed-models'
import type { InstalledModel } from '@matte/core/model/model-queries'
import { modelsInUse, modelsOfRevision, type RevisionModel } from './revision-models.ts'
import type { TritonPool } from './triton-pool.ts'

type PoolService = {
  /**
   * The model versions of tasks that this pool's pods serve, including `service-v2` for the default pool. Names that
   * only the canary has count too: callers cannot choose them yet, but older tasks may have them.
   */
  readonly modelVersions: readonly string[]
  /** The older pool that is the default already. */
  readonly defaultConflict?: string
  /** Model versions of its spec that an older pool serves. */
  readonly duplicates: readonly { readonly modelVersion: string; readonly pool: string }[]
}

export type RoutedModel = { readonly tritonModel: string; readonly modelVersions: readonly string[] }

export type ServedPools = {
  /** The rows of table `model`. */
  readonly models: readonly InstalledModel[]
  /** What pods of this pool with these models serve, without the names that an older pool serves. */
  routed(pool: TritonPool, models: readonly RevisionModel[]): RoutedModel[]
  of(pool: TritonPool): PoolService
}

/** A pool that is being deleted serves nothing; its open tasks wait for another pool (D32). */
export function servedPools(pools: readonly TritonPool[]): ServedPools {
  const serving = pools.filter(({ metadata }) => metadata.deletionTimestamp === undefined).sort(compareAge)
  const byAge = serving.map(({ metadata }) => metadata.name)
  const inUse = new Map(serving.map((pool) => [pool.metadata.name, modelsInUse(pool)]))
  const models = install(serving, inUse)
  const owners = new Map(models.map(({ name, pool }) => [name, pool]))
  const defaultPool = serving.find(({ spec }) => spec.default)?.metadata.name
  const rowsOf = ({ metadata: { name } }: TritonPool, own: readonly RevisionModel[]): readonly InstalledModel[] =>
    isSame(own, inUse.get(name))
      ? models.filter((row) => row.pool === name)
      : // Until it is promoted, a revision serves no name that another pool serves.
        install(serving, new Map(inUse).set(name, own)).filter(
          (row) => row.pool === name && (owners.get(row.name) ?? name) === name,
        )
  return {
    models,
    routed: (pool, own) => {
      const rows = rowsOf(pool, own)
      return own.flatMap(({ name: tritonModel }) => {
        const modelVersions = rows.filter((row) => row.tritonModel === tritonModel).map((row) => row.name)
        return modelVersions.length === 0 ? [] : [{ tritonModel, modelVersions }]
      })
    },
    of: (pool) => {
      const { metadata, spec, status } = pool
      const canary = status?.rollout?.canary
      const tried = canary === undefined ? [] : rowsOf(pool, modelsOfRevision(pool, canary))
      const own = models.filter((row) => row.pool === metadata.name)
      return {
        modelVersions: [...new Set([...own, ...tried].map(({ name }) => name))],
        ...(spec.default &&
          defaultPool !== undefined &&
          defaultPool !== metadata.name && { defaultConflict: defaultPool }),
        duplicates: spec.models.flatMap(({ modelVersion }) => {
          const owner = owners.get(modelVersion)
          // No conflict: a younger pool has the name until this pool's revision is promoted.
          return owner === undefined || byAge.indexOf(owner) >= byAge.indexOf(metadata.name)
            ? []
            : [{ modelVersion, pool: owner }]
        }),
      }
    },
  }
}

/** The same array for every pool without a canary, and a hundred pools are compared each second. */
const isSame = (a: readonly RevisionModel[], b: readonly RevisionModel[] = []): boolean =>
  a === b ||
  (a.length === b.length &&
    a.every(
      ({ name, modelVersion, default: isDefault }, index) =>
        b[index]?.name === name && b[index].modelVersion === modelVersion && b[index].default === isDefault,
    ))

/** The rows of table `model` when each pool has these models. */
const install = (
  pools: readonly TritonPool[],
  modelsOf: ReadonlyMap<string, readonly RevisionModel[]>,
): InstalledModel[] =>
  installedModels(
    pools.map(({ metadata, spec }) => ({
      pool: metadata.name,
      isDefault: spec.default,
      models: (modelsOf.get(metadata.name) ?? spec.models).map(({ name, modelVersion, default: isDefault }) => ({
        modelVersion,
        tritonModel: name,
        isDefault,
      })),
    })),
  )

/** Oldest first, then by name: creation times are whole seconds. */
function compareAge({ metadata: a }: TritonPool, { metadata: b }: TritonPool): number {
  const [first, second] = [`${a.creationTimestamp} ${a.name}`, `${b.creationTimestamp} ${b.name}`]
  return first < second ? -1 : 1
}
