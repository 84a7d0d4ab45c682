// ConfigMaps for tests of Kubernetes access. Does not import vitest, so child processes can load it.
import type { Resource } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'

/** Label of everything that tests create. */
export const testLabel = 'matte.dev/test'

export type ConfigMap = KubeObject & { data?: Record<string, string> }

/** The simplest resource: no controller changes it. */
export const configMaps: Resource<ConfigMap> = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' }

export const buildConfigMap = (name: string, data: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { [testLabel]: 'true' } },
  data,
})

/** The ConfigMap of pools with its number of entries, as the chart writes it. */
export const withCount = (configMap: ConfigMap): ConfigMap => {
  const annotations = { 'matte.dev/pools': String(Object.keys(configMap.data ?? {}).length) }
  return { ...configMap, metadata: { ...configMap.metadata, annotations } }
}
