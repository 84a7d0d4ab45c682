// Assignment of model versions to pools: the oldest pool that names a version serves it.
import { installedModels } from '@matte/core/model/installed-models'
import type { InstalledModel } from '@matte/core/model/model-queries'
import type { AskedPool } from '@matte/core/scale/demand-queries'
import { windowSeconds } from '@matte/core/scale/inference-queries'
import { type ElapsedTimes, elapsedSince, keepTimes } from './elapsed-times.ts'
import { modelsInUse, modelsOfRevision, type RevisionModel } from './revision-models.ts'
import type { TritonPool } from './triton-pool.ts'

type PoolService = {
  /** Model versions of tasks that the pods serve, including `service-v2` and names of the canary alone. */
  readonly modelVersions: readonly string[]
  readonly defaultConflict?: string
  readonly duplicates: readonly { readonly modelVersion: string; readonly pool: string }[]
}

export type RoutedModel = { readonly tritonModel: string; readonly modelVersions: readonly string[] }

export type ServedPools = {
  readonly models: readonly InstalledModel[]
  /** Models that pods of this pool serve, without names that belong to an older pool. */
  routed(pool: TritonPool, models: readonly RevisionModel[]): RoutedModel[]
  of(pool: TritonPool): PoolService
}

/** A pool that is being deleted serves nothing; its open tasks wait for another pool. */
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
      : // An unpromoted revision serves no name of another pool.
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
          // Not a conflict: a younger pool has the name until this pool's revision is promoted.
          return owner === undefined || byAge.indexOf(owner) >= byAge.indexOf(metadata.name)
            ? []
            : [{ modelVersion, pool: owner }]
        }),
      }
    },
  }
}

const isSame = (a: readonly RevisionModel[], b: readonly RevisionModel[] = []): boolean =>
  a === b ||
  (a.length === b.length &&
    a.every(
      ({ name, modelVersion, default: isDefault }, index) =>
        b[index]?.name === name && b[index].modelVersion === modelVersion && b[index].default === isDefault,
    ))

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

function compareAge({ metadata: a }: TritonPool, { metadata: b }: TritonPool): number {
  const [first, second] = [`${a.creationTimestamp} ${a.name}`, `${b.creationTimestamp} ${b.name}`]
  return first < second ? -1 : 1
}

export type PoolCatalogue = {
  served(): ServedPools
  asked(): AskedPool[]
}

type Clock = { readonly nowMs: () => number; readonly monotonicMs: () => number }

const revisionSecondsMax = 3_600

export function poolCatalogue(pools: { items(): readonly TritonPool[] }, clock: Clock): PoolCatalogue {
  const elapsed: ElapsedTimes = new Map()
  let known: readonly TritonPool[] | undefined
  let served: ServedPools = servedPools([])

  const refresh = (): ServedPools => {
    const items = pools.items()
    if (items !== known) {
      known = items
      served = servedPools(items)
    }
    return served
  }
  return {
    served: refresh,
    asked: () => {
      const items = pools.items()
      const clocks = { now: new Date(clock.nowMs()), nowMs: clock.monotonicMs() }
      const times = items.map(({ status }) => status?.rollout?.since)
      keepTimes(elapsed, times, clocks)
      return items.map((pool) => ({
        pool: pool.metadata.name,
        modelVersions: refresh().of(pool).modelVersions,
        ...revisionSecondsOf(pool, (time) => elapsedSince(elapsed, time, clocks)),
      }))
    },
  }
}

/** Age of the rollout's step plus one window, because a window carries its start time. */
function revisionSecondsOf(
  { status }: TritonPool,
  elapsed: (time: string) => number,
): Pick<AskedPool, 'revisionSeconds'> {
  const { canary, since } = status?.rollout ?? {}
  if (canary === undefined || since === undefined) return {}
  return { revisionSeconds: Math.min(elapsed(since) + windowSeconds, revisionSecondsMax) }
}
