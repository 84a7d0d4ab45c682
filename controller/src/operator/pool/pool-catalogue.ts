// What the pools serve, and what the demand query needs to know about each.
import type { AskedPool } from '@matte/core/scale/demand-queries'
import { windowSeconds } from '@matte/core/scale/inference-queries'
import { type ServedPools, servedPools } from './served-pools.ts'
import type { TritonPool } from './triton-pool.ts'

export type PoolCatalogue = {
  /** Computed once for each change of the pools. */
  served(): ServedPools
  asked(): AskedPool[]
}

/** Inference windows are kept this long. */
const revisionSecondsMax = 3_600

export function poolCatalogue(
  pools: { items(): readonly TritonPool[] },
  now: () => number = () => Date.now(),
): PoolCatalogue {
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
    asked: () =>
      pools.items().map((pool) => ({
        pool: pool.metadata.name,
        modelVersions: refresh().of(pool).modelVersions,
        ...revisionSecondsOf(pool, now()),
      })),
  }
}

/** The age of the rollout's step, and one window more, since a window has the time of its start. */
function revisionSecondsOf({ status }: TritonPool, nowMs: number): Pick<AskedPool, 'revisionSeconds'> {
  const { canary, since } = status?.rollout ?? {}
  if (canary === undefined || since === undefined) return {}
  const seconds = (nowMs - Date.parse(since)) / 1000
  return { revisionSeconds: Math.min(Math.max(seconds, 0) + windowSeconds, revisionSecondsMax) }
}
