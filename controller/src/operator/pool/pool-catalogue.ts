import type { AskedPool } from '@matte/core/scale/demand-queries'
import { windowSeconds } from '@matte/core/scale/inference-queries'
import type { Reflector } from '../kube/reflector.ts'
import { type ServedPools, servedPools } from './served-pools.ts'
import type { TritonPool } from './triton-pool.ts'

export type PoolCatalogue = {
  /** Which pool serves what; worked out once for each change of the pools. */
  served(): ServedPools
  /** What the database is asked about each pool. */
  asked(): AskedPool[]
}

/** The longest that figures of pods are kept. */
const revisionSecondsMax = 3_600

export function poolCatalogue(
  pools: Pick<Reflector<TritonPool>, 'items'>,
  now: () => number = () => Date.now(),
): PoolCatalogue {
  let seen: readonly TritonPool[] | undefined
  let served: ServedPools = servedPools([])

  const look = (): ServedPools => {
    const items = pools.items()
    if (items !== seen) {
      seen = items
      served = servedPools(items)
    }
    return served
  }
  return {
    served: look,
    asked: () =>
      pools.items().map((pool) => ({
        pool: pool.metadata.name,
        modelVersions: look().of(pool).modelVersions,
        ...revisionSecondsOf(pool, now()),
      })),
  }
}

/** While a revision is tried its figures are those since its step began; a window has the time of its start, so one more. */
function revisionSecondsOf({ status }: TritonPool, nowMs: number): Pick<AskedPool, 'revisionSeconds'> {
  const { canary, since } = status?.rollout ?? {}
  if (canary === undefined || since === undefined) return {}
  const seconds = (nowMs - Date.parse(since)) / 1000
  return { revisionSeconds: Math.min(Math.max(seconds, 0) + windowSeconds, revisionSecondsMax) }
}
