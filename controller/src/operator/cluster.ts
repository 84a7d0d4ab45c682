// The cluster as worker and operator see it: its client, and the TritonPools and EndpointSlices that both watch. A
// process starts and works while the API server is away: nothing here waits for it.
import { ConfigError } from '@matte/core/runtime/env'
import type { Logger } from 'pino'
import { createKubeClient, endpointSlices } from './kube/client.ts'
import type { ClusterMetrics } from './kube/cluster-metrics.ts'
import { findClusterAccess } from './kube/load-config.ts'
import { reflector } from './kube/reflector.ts'
import { fieldManager, managedSelector } from './pool/labels.ts'
import { ownPools, type Release } from './pool/release.ts'
import { tritonPools } from './pool/triton-pool.ts'

export type ClusterOptions = {
  /** Undefined: the pod's own, or the context's. */
  readonly namespace: string | undefined
  /** Undefined: the pools of every release. */
  readonly release?: Release | undefined
  readonly logger: Logger
}

/** @throws ConfigError when this machine knows no cluster. */
export async function openCluster({ namespace: given, release, logger }: ClusterOptions, metrics: ClusterMetrics) {
  const loaded = await findClusterAccess()
  if (loaded === undefined) {
    throw new ConfigError(
      'There is no cluster for the pods of TritonPools: run the process in a pod, or set KUBECONFIG. ' +
        'A worker without Kubernetes needs TRITON_POOLS off, and MODELS_STATIC.',
    )
  }
  const namespace = given ?? loaded.namespace
  const kube = createKubeClient({ config: loaded.config, namespace, fieldManager, metrics, logger })
  logger.info({ namespace, release: release?.name }, 'pods come from TritonPools')
  const allPools = reflector({ kube, resource: tritonPools, logger, metrics })
  return {
    kube,
    allPools,
    /** The release's own. */
    pools: ownPools(allPools, release),
    slices: reflector({ kube, resource: endpointSlices, labelSelector: managedSelector, logger, metrics }),
    client: { name: 'kube-client', start: () => undefined, stop: () => kube.close() },
  }
}
