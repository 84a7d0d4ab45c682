// `setup pools` of charts up to 0.2, whose Job applies the pools of the values and makes their ConfigMap the owner. The
// operator of a newer chart takes the owner away.
import type { Logger } from 'pino'
import type { KubeClient } from '../operator/kube/client.ts'
import { KubeError } from '../operator/kube/client.ts'
import { type TritonPool, tritonPools } from '../operator/pool/triton-pool.ts'
import { applyPool } from '../operator/values-pools/apply-pool.ts'
import { type ConfigMap, configMaps, originLabel } from '../operator/values-pools/pool-entries.ts'

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
  const { items } = await kube.list(tritonPools, { labelSelector: `${originLabel}=${name}` })
  for (const { metadata } of items.filter((pool) => !wanted.some(([kept]) => kept === pool.metadata.name))) {
    await kube.delete(tritonPools, metadata.name)
    logger.info({ pool: metadata.name }, 'pool deleted, which the values name no more')
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
