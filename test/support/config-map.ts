// ConfigMaps as the tests of the machinery around Kubernetes use them. In a file without vitest, for children.
import type { Resource } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'

/** Marks all that tests make. */
export const testLabel = 'matte.dev/test'

export type ConfigMap = KubeObject & { data?: Record<string, string> }

/** The plainest resource there is: no controller touches what a test makes of it. */
export const configMaps: Resource<ConfigMap> = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' }

export const buildConfigMap = (name: string, data: Record<string, string>): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { [testLabel]: 'true' } },
  data,
})

/** The ConfigMap of pools with the number of its entries, as the chart writes it. */
export const withCount = (configMap: ConfigMap): ConfigMap => {
  const annotations = { 'matte.dev/pools': String(Object.keys(configMap.data ?? {}).length) }
  return { ...configMap, metadata: { ...configMap.metadata, annotations } }
}
