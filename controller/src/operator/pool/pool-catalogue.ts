// What the pools serve, and what the demand query needs to know about each.

import type { AskedPool } from '@matte/core/scale/demand-queries'
import { windowSeconds } from '@matte/core/scale/inference-queries'
import { type ElapsedTimes, elapsedSince, keepTimes } from './elapsed-times.ts'
import { type ServedPools, servedPools } from './served-pools.ts'
import type { TritonPool } from './triton-pool.ts'

export type PoolCatalogue = {
  /** Computed once for each change of the pools. */
  served(): ServedPools
  asked(): AskedPool[]
}

type Clock = { readonly nowMs: () => number; readonly monotonicMs: () => number }

/** Inference windows are kept this long. */
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

/** The age of the rollout's step, and one window more, since a window has the time of its start. */
function revisionSecondsOf(
  { status }: TritonPool,
  elapsed: (time: string) => number,
): Pick<AskedPool, 'revisionSeconds'> {
  const { canary, since } = status?.rollout ?? {}
  if (canary === undefined || since === undefined) return {}
  return { revisionSeconds: Math.min(elapsed(since) + windowSeconds, revisionSecondsMax) }
}
