// A namespace of the cluster that the current kube context names, with the TritonPool's definition in place. Here the
// controllers run beside the cluster, so the machine must reach the pods' addresses.
import { randomBytes } from 'node:crypto'
import { createKubeClient, type KubeClient, pods, type Resource } from '@matte/controller/operator/kube/client'
import { createKubeMetrics } from '@matte/controller/operator/kube/kube-metrics'
import { type LoadedConfig, loadKubeConfig } from '@matte/controller/operator/kube/load-config'
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
  /** Deletes the namespace with all that is in it; returns when its pods are gone. */
  end(): Promise<void>
}

/** @throws Error when there is no kube context, or nobody answers behind it. */
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
      // Nobody sends to them any more; the next scenario shall not wait for their grace.
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
