// Cluster access that the worker and the operator share. Nothing here waits for the API server, so a process starts
// without it.
import { ConfigError } from '@matte/core/runtime/env'
import type { Logger } from 'pino'
import { createKubeClient, endpointSlices, type Resource } from './kube/client.ts'
import { findClusterAccess } from './kube/cluster-access.ts'
import type { ClusterMetrics } from './kube/kube-metrics.ts'
import { namespaceAccess } from './kube/namespace-access.ts'
import { type NamespacedReflector, namespacedReflector } from './kube/namespaced-reflector.ts'
import type { KubeObject } from './kube/objects.ts'
import { fieldManager, managedSelector } from './pool/labels.ts'
import { ownPools, type Release } from './pool/release.ts'
import { tritonPools } from './pool/triton-pool.ts'
import { poolsByName } from './pool-names.ts'

export type ClusterOptions = {
  readonly namespace: string | undefined
  readonly moreNamespaces?: readonly string[]
  readonly release?: Release | undefined
  readonly logger: Logger
}

export type Watch = <T extends KubeObject>(resource: Resource<T>, labelSelector?: string) => NamespacedReflector<T>

/** @throws ConfigError if this machine has no cluster configuration */
export async function openCluster(options: ClusterOptions, metrics: ClusterMetrics) {
  const { namespace: given, moreNamespaces = [], release, logger } = options
  const loaded = await findClusterAccess()
  if (loaded === undefined) {
    throw new ConfigError(
      'No cluster configuration found. Run the process in a pod, or set KUBECONFIG. ' +
        'For a worker without Kubernetes turn TRITON_POOLS off and set MODELS_STATIC.',
    )
  }
  const namespace = given ?? loaded.namespace
  const kube = createKubeClient({ config: loaded.config, namespace, fieldManager, metrics, logger })
  const namespaces = [...new Set([namespace, ...moreNamespaces])]
  logger.info({ namespaces, release: release?.name }, 'serving pods of TritonPools')
  const access = namespaceAccess({ namespaces, metrics, logger })
  const watch: Watch = (resource, labelSelector) => {
    const selector = labelSelector === undefined ? {} : { labelSelector }
    return namespacedReflector({ kube, namespaces, access, resource, ...selector, logger, metrics })
  }
  const allPools = watch(tritonPools)
  const pools = ownPools(allPools, release)
  return {
    kube,
    watch,
    /** Pools of all releases in the release's namespace. */
    homePools: allPools.home,
    pools,
    named: poolsByName(pools),
    slices: watch(endpointSlices, managedSelector),
    client: { name: 'kube-client', start: () => undefined, stop: () => kube.close() },
  }
}
