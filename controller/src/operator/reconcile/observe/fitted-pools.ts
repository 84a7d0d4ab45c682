// Pools adapted to the platform and the release at each reading. Writes are recorded in the index that they came from,
// which recognizes an adapted pool by its uid and resourceVersion.
import type { Release } from '../../pool/release.ts'
import { type TritonPool, withDefaults } from '../../pool/triton-pool.ts'
import { fitToPlatform, type Platform } from '../../specs/platform.ts'
import { withPodRelease } from '../../specs/pod-release.ts'
import type { LiveIndex } from './live-index.ts'

type Surroundings = { readonly platform: Platform; readonly release?: Release | undefined }

export function fitPools(pools: LiveIndex<TritonPool>, { platform, release }: Surroundings): LiveIndex<TritonPool> {
  const complete = new WeakMap<TritonPool, TritonPool>()
  /** An older definition has no default for newer fields of spec; its pools come without them. */
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
