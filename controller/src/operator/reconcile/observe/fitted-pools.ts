// Pools adapted to the platform and the release at each read. The index recognizes an adapted pool by uid and
// resourceVersion.
import type { Release } from '../../pool/release.ts'
import { type TritonPool, withDefaults } from '../../pool/triton-pool.ts'
import { fitToPlatform, type Platform, withPodRelease } from '../../specs/platform.ts'
import type { LiveIndex } from './live-index.ts'

type Surroundings = { readonly platform: Platform; readonly release?: Release | undefined }

export function fitPools(pools: LiveIndex<TritonPool>, { platform, release }: Surroundings): LiveIndex<TritonPool> {
  const complete = new WeakMap<TritonPool, TritonPool>()
  /** An older definition lacks defaults of newer spec fields. */
  const withAllFields = (pool: TritonPool): TritonPool => {
    const known = complete.get(pool) ?? { ...pool, spec: withDefaults(pool.spec) }
    complete.set(pool, known)
    return known
  }
  const fit = (pool: TritonPool): TritonPool => fitToPlatform(withPodRelease(withAllFields(pool), release), platform)
  return {
    ...pools,
    get: (name) => {
      const pool = pools.get(name)
      return pool && fit(pool)
    },
    of: (name) => pools.of(name).map(fit),
  }
}
