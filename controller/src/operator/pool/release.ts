// Pools of a release. Two releases may share a namespace: the label `matte.dev/release` assigns a pool to a release,
// and exactly one release serves the unlabelled pools. A pool's objects are found by its name and need no label.
import type { KubeObject } from '../kube/objects.ts'
import type { Reflector } from '../kube/reflector.ts'
import { leaseName } from './labels.ts'
import type { TritonPool } from './triton-pool.ts'

export const releaseLabel = 'matte.dev/release'

export type Release = {
  readonly name: string
  /** Whether it also serves unlabelled pools; at most one release of a namespace may. */
  readonly unlabelledPools: boolean
}

/** Without a release every pool counts, as in `make up` and in charts up to 0.2. */
export function ownsPool(release: Release | undefined, { metadata }: KubeObject): boolean {
  const label = metadata.labels?.[releaseLabel]
  if (release === undefined) return true
  return label === undefined ? release.unlabelledPools : label === release.name
}

/** Charts up to 0.2 used one Lease name; old and new operators compete for it during an upgrade. */
export const leaseNameOf = (release: Release | undefined): string =>
  release === undefined || release.unlabelledPools ? leaseName : `${release.name}-operator`

type Pools = Pick<Reflector<TritonPool>, 'get' | 'items' | 'onChange'>

/** Filters the pools of this release; start and stop those of `all`. */
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
