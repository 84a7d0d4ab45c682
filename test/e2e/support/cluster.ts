// A namespace in the cluster of the current kube context, with the CustomResourceDefinition. Controllers run beside the
// cluster, so this machine must reach pod addresses.
import { randomBytes } from 'node:crypto'
import { createKubeClient, type KubeClient, pods, type Resource } from '@matte/controller/operator/kube/client'
import { type LoadedConfig, loadKubeConfig } from '@matte/controller/operator/kube/cluster-access'
import { createKubeMetrics } from '@matte/controller/operator/kube/kube-metrics'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { fieldManager } from '@matte/controller/operator/pool/labels'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { pino } from 'pino'
import { testLabel } from '../../support/config-map.ts'
import { installPoolDefinition } from '../../support/pool-definition.ts'
import { until } from '../../support/until.ts'

const namespaces: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  clusterScoped: true,
}

export type Cluster = {
  /** As the cluster's administrator, in the scenario's namespace. */
  readonly kube: KubeClient
  readonly namespace: string
  readonly loaded: LoadedConfig
  /** Deletes the namespace; returns when its pods are gone. */
  end(): Promise<void>
}

/** @throws Error without a kube context, or if its cluster does not respond */
export async function openCluster(): Promise<Cluster> {
  const loaded = await loadKubeConfig()
  if (loaded === undefined) throw new Error('the scenarios need a Kubernetes cluster: set KUBECONFIG')
  const namespace = `matte-e2e-${randomBytes(3).toString('hex')}`
  const metrics = createKubeMetrics(createRegistry('test'))
  const logger = pino({ level: 'silent' })
  const kube = createKubeClient({ config: loaded.config, namespace, fieldManager, metrics, logger })
  await installPoolDefinition(loaded)
  await kube.create(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { [testLabel]: 'true' } },
  })
  return {
    kube,
    namespace,
    loaded,
    end: async () => {
      await kube.delete(namespaces, namespace)
      // No client uses them any more, so their grace period is skipped.
      await until('the pods of the namespace are gone', () => killPods(kube), { timeoutMs: 240_000, everyMs: 1_000 })
      kube.close()
    },
  }
}

async function killPods(kube: KubeClient): Promise<boolean> {
  const { items } = await kube.list(pods)
  for (const { metadata } of items) await kube.delete(pods, metadata.name, { gracePeriodSeconds: 0 })
  return items.length === 0
}
