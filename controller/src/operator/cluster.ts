// The cluster as worker and operator see it: its client, and the TritonPools and EndpointSlices that both watch. A
// process starts and works while the API server is away: nothing here waits for it.
import { ConfigError } from '@matte/core/runtime/env'
import type { Logger } from 'pino'
import { createKubeClient, endpointSlices, type Resource } from './kube/client.ts'
import type { ClusterMetrics } from './kube/cluster-metrics.ts'
import { findClusterAccess } from './kube/load-config.ts'
import { namespaceAccess } from './kube/namespace-access.ts'
import { type NamespacedReflector, namespacedReflector } from './kube/namespaced-reflector.ts'
import type { KubeObject } from './kube/objects.ts'
import { fieldManager, managedSelector } from './pool/labels.ts'
import { poolsByName } from './pool/pool-names.ts'
import { ownPools, type Release } from './pool/release.ts'
import { tritonPools } from './pool/triton-pool.ts'

export type ClusterOptions = {
  /** Undefined: the pod's own, or the context's. */
  readonly namespace: string | undefined
  /** Further watched namespaces. */
  readonly moreNamespaces?: readonly string[]
  /** Undefined: the pools of every release. */
  readonly release?: Release | undefined
  readonly logger: Logger
}

/** Watches a resource in every namespace. */
export type Watch = <T extends KubeObject>(resource: Resource<T>, labelSelector?: string) => NamespacedReflector<T>

/** @throws ConfigError when this machine knows no cluster. */
export async function openCluster(options: ClusterOptions, metrics: ClusterMetrics) {
  const { namespace: given, moreNamespaces = [], release, logger } = options
  const loaded = await findClusterAccess()
  if (loaded === undefined) {
    throw new ConfigError(
      'There is no cluster for the pods of TritonPools: run the process in a pod, or set KUBECONFIG. ' +
        'A worker without Kubernetes needs TRITON_POOLS off, and MODELS_STATIC.',
    )
  }
  const namespace = given ?? loaded.namespace
  const kube = createKubeClient({ config: loaded.config, namespace, fieldManager, metrics, logger })
  const namespaces = [...new Set([namespace, ...moreNamespaces])]
  logger.info({ namespaces, release: release?.name }, 'pods come from TritonPools')
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
    /** Those of the release's namespace, whichever release they are of. */
    homePools: allPools.home,
    /** The release's own. */
    pools,
    named: poolsByName(pools),
    slices: watch(endpointSlices, managedSelector),
    client: { name: 'kube-client', start: () => undefined, stop: () => kube.close() },
  }
}
