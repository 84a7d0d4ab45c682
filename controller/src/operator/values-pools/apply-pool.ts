import { type KubeClient, KubeError } from '../kube/client.ts'
import { type TritonPool, tritonPools } from '../pool/triton-pool.ts'

/** The Job of charts up to 0.2 used this name, so fields that leave the values leave the pool. */
const valuesManager = 'matte-setup'

/** Applies `replicas` only if no other manager has set it, to keep a scaler's number. @throws KubeError */
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

/** Applies over the version that was read; undefined creates the pool. @throws KubeError 409 if it has changed */
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

const existsAlready = 'metadata.resourceVersion: Invalid value'
