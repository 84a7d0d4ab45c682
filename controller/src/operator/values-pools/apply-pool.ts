import { type KubeClient, KubeError } from '../kube/client.ts'
import { type TritonPool, tritonPools } from '../pool/triton-pool.ts'

/**
 * Field manager of the pools from the chart's values. The Job of charts up to 0.2 applied them under the same name, so
 * a field that leaves the values leaves the pool, whichever of the two wrote it.
 */
const valuesManager = 'matte-setup'

/**
 * Applies a pool of the values. `replicas` counts for the first time only: applying it again would undo the number that
 * a scaler has written since. Without it the API server keeps the scaler's number, and rejects a pool that nothing has
 * scaled yet. With `live`, the pool as it was read, the write conflicts if the pool has changed since. @throws KubeError
 */
export async function applyPool(
  kube: Pick<KubeClient, 'apply'>,
  pool: TritonPool,
  live?: TritonPool,
): Promise<TritonPool> {
  const { uid, resourceVersion } = live?.metadata ?? {}
  const metadata = { ...pool.metadata, ...(live && { uid, resourceVersion }) } as TritonPool['metadata']
  const { replicas, ...spec } = pool.spec
  const options = { fieldManager: valuesManager }
  if (replicas !== undefined) {
    try {
      return await kube.apply(tritonPools, { ...pool, metadata, spec }, options)
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 422) throw error
    }
  }
  return kube.apply(tritonPools, { ...pool, metadata }, options)
}
