// Entries of the ConfigMap with the pools of the chart's values: a pool's spec as JSON, by the pool's name.
import type { Resource } from '../kube/client.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { PoolSpecInput } from '../pool/triton-pool.ts'

export type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> }

export const configMaps: Resource<ConfigMap> = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' }

/** Marks the pools that come from the ConfigMap, with its name. */
export const originLabel = 'matte.dev/from'

export type PoolEntry = {
  readonly name: string
  readonly text: string
  /** Undefined: the text is not a JSON object. */
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
