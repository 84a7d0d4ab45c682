// A pool of the chart's values as an object: its labels, and the owner that charts up to 0.2 gave it.
import { releaseLabel } from '../pool/release.ts'
import type { TritonPool } from '../pool/triton-pool.ts'
import { originLabel, type PoolEntry } from './pool-entries.ts'

/** The release and the ConfigMap that the pools come from. */
export type PoolsOrigin = { readonly release: string; readonly configMap: string }

/** The object to apply for an entry. The API server checks the spec, which is what the values say. */
export const buildValuesPool = ({ release, configMap }: PoolsOrigin, { name, spec }: PoolEntry): TritonPool =>
  ({
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name, labels: { [originLabel]: configMap, [releaseLabel]: release } },
    spec,
  }) as unknown as TritonPool

export const otherOwners = ({ metadata }: TritonPool) =>
  (metadata.ownerReferences ?? []).filter(({ kind }) => kind !== 'ConfigMap')

export const hasConfigMapOwner = ({ metadata }: TritonPool): boolean =>
  metadata.ownerReferences?.some(({ kind }) => kind === 'ConfigMap') ?? false

export function isFrom({ release, configMap }: PoolsOrigin, { metadata: { labels = {} } }: TritonPool): boolean {
  return labels[originLabel] === configMap && (labels[releaseLabel] ?? release) === release
}
