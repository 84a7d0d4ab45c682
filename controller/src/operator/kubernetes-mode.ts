// The pods of TritonPools. Imported only when TRITON_POOLS is on, so that a controller without Kubernetes pays for none
// of it. The process starts, works and sweeps while the API server is away: nothing here waits for it.
import type { Bus } from '@matte/core/bus/bus'
import type { Db } from '@matte/core/db/database'
import type { LicencePolicy } from '@matte/core/model/licence-policy'
import { ConfigError } from '@matte/core/runtime/env'
import type { EdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import type { Plans } from '@matte/core/workspace/plan'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { installModels } from '../worker/install-models.ts'
import type { PodMetrics } from '../worker/routing/pod-metrics.ts'
import type { Serving } from '../worker/serving.ts'
import type { TritonStubClass } from '../worker/triton/triton-protocol.ts'
import { createKubeClient, endpointSlices } from './kube/client.ts'
import { createKubeMetrics } from './kube/kube-metrics.ts'
import { loadKubeConfig } from './kube/load-config.ts'
import { reflector } from './kube/reflector.ts'
import { operator } from './operator.ts'
import { kubernetesPods } from './pod-source.ts'
import { fieldManager, managedSelector } from './pool/labels.ts'
import { poolCatalogue } from './pool/pool-catalogue.ts'
import type { PodPatchForm } from './pool/spec/pod-patch.ts'
import { tritonPools } from './pool/triton-pool.ts'
import type { Platform } from './specs/platform.ts'

type KubernetesModeOptions = {
  /** Undefined: the pod's own, or the context's. */
  readonly namespace: string | undefined
  readonly channels: number
  readonly Stub: TritonStubClass
  readonly db: Db
  readonly plans: Plans
  readonly podPatch: PodPatchForm
  readonly licences: LicencePolicy
  readonly platform: Platform
  readonly bus: Bus
  readonly registry: Registry
  readonly podMetrics: PodMetrics
  readonly edges: EdgeMetrics
  readonly logger: Logger
}

/** @throws ConfigError when this machine knows no cluster. */
export async function kubernetesMode(options: KubernetesModeOptions): Promise<Serving> {
  const { channels, Stub, db, registry, podMetrics, edges, licences, logger } = options
  const loaded = await loadKubeConfig()
  if (loaded === undefined) {
    throw new ConfigError(
      'TRITON_POOLS is on, but there is no cluster: run it in a pod, set KUBECONFIG, or give MODELS_STATIC instead',
    )
  }
  const metrics = createKubeMetrics(registry, edges)
  const namespace = options.namespace ?? loaded.namespace
  const kube = createKubeClient({ config: loaded.config, namespace, fieldManager, metrics, logger })
  const pools = reflector({ kube, resource: tritonPools, logger, metrics })
  const slices = reflector({ kube, resource: endpointSlices, labelSelector: managedSelector, logger, metrics })
  const catalogue = poolCatalogue(pools)
  const source = kubernetesPods({ slices, pools, Stub, channels, licences, logger, metrics: podMetrics })

  let known = false
  const models = installModels({
    db,
    models: () => (known ? catalogue.served().models : undefined),
    source,
    logger,
  })
  pools.onChange(() => known && models.wake())
  const onSynced = (): void => {
    known = true
    models.wake()
  }
  const onStopped = (): void => undefined
  // Before the first list an empty set of pools means that nothing is known, not that nothing is installed.
  const first = {
    name: 'first-pools',
    start: () => void pools.synced().then(onSynced, onStopped),
    stop: () => undefined,
  }
  const client = { name: 'kube-client', start: () => undefined, stop: () => kube.close() }
  logger.info({ namespace }, 'pods come from TritonPools')
  return {
    source,
    services: [client, models, pools, first, slices, source],
    leading: ({ slotsOn }) => [
      operator({ ...options, kube, kubeMetrics: metrics, pools, catalogue, slices, source, slotsUsed: slotsOn }),
    ],
  }
}
