// `setup pools` of charts up to 0.2. It makes the ConfigMap the owner of the pools; the operator of a newer chart
// removes the owner.
import type { Logger } from 'pino'
import { type KubeClient, KubeError } from '../operator/kube/client.ts'
import { type TritonPool, tritonPools } from '../operator/pool/triton-pool.ts'
import { applyPool } from '../operator/values-pools/apply-pool.ts'
import { type ConfigMap, configMaps, originLabel } from '../operator/values-pools/pool-entries.ts'

/** Applies each entry and deletes pools whose entry is gone. @throws Error naming every refused pool */
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
  const { items } = await kube.list(tritonPools, { labelSelector: `${originLabel}=${name}` })
  for (const { metadata } of items.filter((pool) => !wanted.some(([kept]) => kept === pool.metadata.name))) {
    await kube.delete(tritonPools, metadata.name)
    logger.info({ pool: metadata.name }, 'pool removed from the values deleted')
  }
  if (refused.length > 0) throw new Error(`pools were refused:\n${refused.join('\n')}`)
}

function toPool(name: string, spec: string, { metadata }: ConfigMap): TritonPool {
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: metadata.name, uid: metadata.uid ?? '' }
  const labels = { [originLabel]: metadata.name }
  return {
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: { name, labels, ownerReferences: [owner] },
    spec: JSON.parse(spec),
  } as TritonPool
}

/** Deletes the pools that came from this ConfigMap; their pods finish their requests. @throws KubeError */
export async function deletePools(kube: KubeClient, configMap: string, logger: Logger): Promise<void> {
  for (const { metadata } of await listPools(kube, configMap)) {
    await kube.delete(tritonPools, metadata.name)
    logger.info({ pool: metadata.name }, 'pool deleted')
  }
}

/** Empty without the definition: `crds.keep: false` deletes it with all pools. */
async function listPools(kube: KubeClient, configMap: string) {
  try {
    return (await kube.list(tritonPools, { labelSelector: `${originLabel}=${configMap}` })).items
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return []
    throw error
  }
}
