// Which pool answers for which model version, where several may ask for the same: the older pool wins.
import { installedModels } from '@matte/core/model/installed-models'
import type { InstalledModel } from '@matte/core/model/model-queries'
import type { RevisionModel } from './revision-models.ts'
import type { TritonPool } from './triton-pool.ts'

export type PoolService = {
  /** What tasks may carry that this pool serves, `service-v2` included where it stands in for it. */
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
  /** What pods of this pool answer for that have these models; those of an older pool's names are left out. */
  routed(pool: TritonPool, models: readonly RevisionModel[]): RoutedModel[]
  of(pool: TritonPool): PoolService
}

/** A pool that is being deleted serves nothing any more; its open tasks wait for another (D32). */
export function servedPools(pools: readonly TritonPool[]): ServedPools {
  const serving = pools.filter(({ metadata }) => metadata.deletionTimestamp === undefined).sort(byAge)
  const models = install(serving)
  const owners = new Map(models.map(({ name, pool }) => [name, pool]))
  const defaultPool = serving.find(({ spec }) => spec.default)?.metadata.name
  return {
    models,
    routed: (pool, own) => {
      const { name } = pool.metadata
      const rows = (own === pool.spec.models ? models : install(serving, { pool: name, models: own })).filter(
        (row) => row.pool === name,
      )
      return own.flatMap(({ name: tritonModel }) => {
        const modelVersions = rows.filter((row) => row.tritonModel === tritonModel).map((row) => row.name)
        return modelVersions.length === 0 ? [] : [{ tritonModel, modelVersions }]
      })
    },
    of: ({ metadata, spec }) => ({
      modelVersions: models.filter(({ pool }) => pool === metadata.name).map(({ name }) => name),
      ...(spec.default &&
        defaultPool !== undefined &&
        defaultPool !== metadata.name && { defaultConflict: defaultPool }),
      duplicates: spec.models.flatMap(({ modelVersion }) => {
        const pool = owners.get(modelVersion)
        return pool === undefined || pool === metadata.name ? [] : [{ modelVersion, pool }]
      }),
    }),
  }
}

/** The rows, with another list of models in place of one pool's. */
function install(
  pools: readonly TritonPool[],
  other?: { readonly pool: string; readonly models: readonly RevisionModel[] },
): InstalledModel[] {
  return installedModels(
    pools.map(({ metadata, spec }) => ({
      pool: metadata.name,
      isDefault: spec.default,
      models: (metadata.name === other?.pool ? other.models : spec.models).map(
        ({ name, modelVersion, default: isDefault }) => ({ modelVersion, tritonModel: name, isDefault }),
      ),
    })),
  )
}

/** Oldest first; of two of the same second the one whose name comes first. */
function byAge({ metadata: a }: TritonPool, { metadata: b }: TritonPool): number {
  const [first, second] = [`${a.creationTimestamp} ${a.name}`, `${b.creationTimestamp} ${b.name}`]
  return first < second ? -1 : 1
}
