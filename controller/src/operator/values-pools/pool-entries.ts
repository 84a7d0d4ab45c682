// Entries of the ConfigMap with the pools of the chart's values: specs as JSON by pool name.
import type { Resource } from '../kube/client.ts'
import type { KubeObject } from '../kube/objects.ts'
import { releaseLabel } from '../pool/release.ts'
import type { PoolSpecInput, TritonPool } from '../pool/triton-pool.ts'

export type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> }

export const configMaps: Resource<ConfigMap> = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' }

/** Label of pools from the ConfigMap, with its name. */
export const originLabel = 'matte.dev/from'

export type PoolEntry = {
  readonly name: string
  readonly text: string
  readonly spec: PoolSpecInput | undefined
}

export const readEntries = ({ data = {} }: ConfigMap): PoolEntry[] =>
  Object.entries(data)
    .map(([name, text]) => ({ name, text, spec: parseSpec(text) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))

function parseSpec(text: string): PoolSpecInput | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as PoolSpecInput) : undefined
  } catch {
    return undefined
  }
}

export type PoolsOrigin = { readonly release: string; readonly configMap: string }

/** The spec is the chart's text; the API server validates it and adds what the type requires. */
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
