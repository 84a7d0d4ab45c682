// Pools adapted to the platform at each reading. Writes are recorded in the index that they came from, which recognizes
// an adapted pool by its uid and resourceVersion.
import type { TritonPool } from '../../pool/triton-pool.ts'
import { fitToPlatform, type Platform } from '../../specs/platform.ts'
import type { LiveIndex } from './live-index.ts'

export function fitPools(pools: LiveIndex<TritonPool>, platform: Platform): LiveIndex<TritonPool> {
  const fit = (pool: TritonPool): TritonPool => fitToPlatform(pool, platform)
  return {
    ...pools,
    get: (name) => {
      const pool = pools.get(name)
      return pool && fit(pool)
    },
    of: (name) => pools.of(name).map(fit),
  }
}
