// Routing to pods of TritonPools for the worker, from a watch of pools and EndpointSlices. Imported only if
// TRITON_POOLS is on, so a worker without Kubernetes does not load the client.

import type { Db } from '@matte/core/db/database'
import { systemClock } from '@matte/core/runtime/clock'
import type { EdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import type { Registry } from 'prom-client'
import { installModels } from '../worker/install-models.ts'
import type { Serving } from '../worker/routing/pod-source.ts'
import { type ClusterOptions, openCluster } from './cluster.ts'
import { createClusterMetrics } from './kube/kube-metrics.ts'
import { type KubernetesPodsOptions, kubernetesPods } from './pod-source.ts'
import { poolCatalogue } from './pool/served-pools.ts'

type PoolRoutingOptions = ClusterOptions &
  Omit<KubernetesPodsOptions, 'slices' | 'pools'> & {
    readonly db: Db
    readonly registry: Registry
    readonly edges: EdgeMetrics
  }

/** @throws ConfigError if this machine has no cluster configuration */
export async function poolRouting(options: PoolRoutingOptions): Promise<Serving> {
  const { db, registry, edges, logger } = options
  const { client, pools, named, slices } = await openCluster(options, createClusterMetrics(registry, edges))
  const catalogue = poolCatalogue(named, systemClock)
  const source = kubernetesPods({ ...options, slices, pools: named })

  let known = false
  const models = installModels({
    db,
    models: () => (known ? catalogue.served().models : undefined),
    source,
    logger,
  })
  named.onChange(() => known && models.wake())
  const onSynced = (): void => {
    known = true
    models.wake()
  }
  const onStopped = (): void => undefined
  // Before the first list an empty set of pools means "unknown", not "no models".
  const first = {
    name: 'first-pools',
    start: () => void pools.known().then(onSynced, onStopped),
    stop: () => undefined,
  }
  return { source, services: [client, models, pools, first, slices, source] }
}
