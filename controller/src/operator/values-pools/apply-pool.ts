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
 * scaled yet. @throws KubeError
 */
export async function applyPool(kube: Pick<KubeClient, 'apply'>, pool: TritonPool): Promise<TritonPool> {
  const { replicas, ...spec } = pool.spec
  const options = { fieldManager: valuesManager }
  if (replicas !== undefined) {
    try {
      return await kube.apply(tritonPools, { ...pool, spec }, options)
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 422) throw error
    }
  }
  return kube.apply(tritonPools, pool, options)
}

/**
 * The same for the pool as it was read. Undefined: there was none. A POST would leave the fields with another manager,
 * so the pool is created by an apply of version 0. @throws KubeError 409 if the pool has changed, or was created, since
 */
export async function applyPoolOver(
  kube: Pick<KubeClient, 'apply'>,
  pool: TritonPool,
  live: TritonPool | undefined,
): Promise<TritonPool> {
  const { uid, resourceVersion } = live?.metadata ?? {}
  const version = live === undefined ? { resourceVersion: '0' } : { uid, resourceVersion }
  try {
    return await applyPool(kube, { ...pool, metadata: { ...pool.metadata, ...version } as TritonPool['metadata'] })
  } catch (error) {
    const exists = live === undefined && error instanceof KubeError && error.message.includes(existsAlready)
    throw exists ? new KubeError(409, 'AlreadyExists', error.message, { cause: error }) : error
  }
}

/** The API server's answer to version 0 of an object that exists. */
const existsAlready = 'metadata.resourceVersion: Invalid value'
