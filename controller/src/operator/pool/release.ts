// Pools of a release. Two releases may share a namespace: the label `matte.dev/release` names the release of a pool,
// and exactly one release serves the pools without it. The objects of a pool are found by the pool's name, so objects
// from before the label need none.
import type { KubeObject } from '../kube/objects.ts'
import type { Reflector } from '../kube/reflector.ts'
import { leaseName } from './labels.ts'
import type { TritonPool } from './triton-pool.ts'

export const releaseLabel = 'matte.dev/release'

export type Release = {
  readonly name: string
  /** Whether it also serves the pools without the label. At most one release of a namespace does. */
  readonly unlabelledPools: boolean
}

/** Without a release every pool of the namespace counts, as in `make up` and in charts up to 0.2. */
export function ownsPool(release: Release | undefined, { metadata }: KubeObject): boolean {
  const label = metadata.labels?.[releaseLabel]
  if (release === undefined) return true
  return label === undefined ? release.unlabelledPools : label === release.name
}

/**
 * Charts up to 0.2 used one name. The release that serves unlabelled pools keeps it, so its former and its new
 * operators compete for one Lease during an upgrade.
 */
export const leaseNameOf = (release: Release | undefined): string =>
  release === undefined || release.unlabelledPools ? leaseName : `${release.name}-operator`

type Pools = Pick<Reflector<TritonPool>, 'get' | 'items' | 'onChange'>

/** The pools that this release serves. Start and stop are those of `all`. */
export function ownPools<T extends Pools>(all: T, release: Release | undefined): T {
  if (release === undefined) return all
  const owned = (pool: TritonPool | undefined) => (pool !== undefined && ownsPool(release, pool) ? pool : undefined)
  let known: readonly TritonPool[] | undefined
  let own: readonly TritonPool[] = []
  return {
    ...all,
    get: (key: string) => owned(all.get(key)),
    items: () => {
      const items = all.items()
      if (items !== known) own = items.filter((pool) => ownsPool(release, pool))
      known = items
      return own
    },
    onChange: (listener: (key: string, pool: TritonPool | undefined) => void) =>
      all.onChange((key, pool) => listener(key, owned(pool))),
  }
}
