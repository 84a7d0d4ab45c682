import type { Logger } from 'pino'
import { type KubeClient, KubeError } from '../operator/kube/client.ts'
import { tritonPools } from '../operator/pool/triton-pool.ts'
import { originLabel } from '../operator/values-pools/pool-entries.ts'

/**
 * Deletes the pools that came from this ConfigMap, after an uninstall. Kubernetes deletes their pods, which finish
 * their requests first. @throws KubeError
 */
export async function deletePools(kube: KubeClient, configMap: string, logger: Logger): Promise<void> {
  for (const { metadata } of await listPools(kube, configMap)) {
    await kube.delete(tritonPools, metadata.name)
    logger.info({ pool: metadata.name }, 'pool deleted')
  }
}

/** None without the definition: `crds.keep: false` deletes it with all pools. */
async function listPools(kube: KubeClient, configMap: string) {
  try {
    return (await kube.list(tritonPools, { labelSelector: `${originLabel}=${configMap}` })).items
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return []
    throw error
  }
}
