// TritonPools of the chart's values. They cannot be templates of the chart: Helm looks up every kind before it creates
// the first object, so a release cannot hold a definition and an object of it. They belong to a ConfigMap of the
// release and go with it.
import type { Logger } from 'pino'
import type { KubeClient, Resource } from '../operator/kube/client.ts'
import { KubeError } from '../operator/kube/client.ts'
import type { KubeObject } from '../operator/kube/objects.ts'
import { type TritonPool, tritonPools } from '../operator/pool/triton-pool.ts'

type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> }

const configMaps: Resource<ConfigMap> = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' }

/** On the pools that come from here, with the ConfigMap's name. */
const ownerLabel = 'matte.dev/from'

/**
 * Applies each entry of the ConfigMap, a pool's spec by its name, and deletes pools that came from it before and are
 * in it no more. @throws Error naming every pool that was refused; the others are applied.
 */
export async function applyPools(kube: KubeClient, name: string, logger: Logger): Promise<void> {
  const configMap = await kube.get(configMaps, name)
  if (configMap === undefined) throw new Error(`ConfigMap ${name} is missing`)
  const wanted = Object.entries(configMap.data ?? {})
  const refused: string[] = []
  for (const [pool, spec] of wanted) {
    try {
      await applyPool(kube, toPool(pool, spec, configMap))
      logger.info({ pool }, 'pool applied')
    } catch (error) {
      if (!(error instanceof KubeError)) throw error
      refused.push(`${pool}: ${error.message}`)
    }
  }
  const { items } = await kube.list(tritonPools, { labelSelector: `${ownerLabel}=${name}` })
  for (const { metadata } of items.filter((pool) => !wanted.some(([kept]) => kept === pool.metadata.name))) {
    await kube.delete(tritonPools, metadata.name)
    logger.info({ pool: metadata.name }, 'pool deleted, which the values name no more')
  }
  if (refused.length > 0) throw new Error(`pools were refused:\n${refused.join('\n')}`)
}

/**
 * `replicas` is for the first time only: once a scaler has written another number, applying the pool's own would undo
 * that at each upgrade. Without it the API server keeps what the scaler wrote, and refuses a pool that nobody has
 * scaled yet.
 */
async function applyPool(kube: KubeClient, pool: TritonPool): Promise<void> {
  const { replicas, ...spec } = pool.spec
  if (replicas !== undefined) {
    try {
      await kube.apply(tritonPools, { ...pool, spec })
      return
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 422) throw error
    }
  }
  await kube.apply(tritonPools, pool)
}

function toPool(name: string, spec: string, { metadata }: ConfigMap): TritonPool {
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: metadata.name, uid: metadata.uid ?? '' }
  const labels = { [ownerLabel]: metadata.name }
  return {
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name, labels, ownerReferences: [owner] },
    spec: JSON.parse(spec),
  } as TritonPool
}
