// The service account of the worker, which decodes untrusted images: it only reads pools and endpoints.
import {
  deployments,
  endpointSlices,
  type KubeClient,
  leases,
  pods,
  type Resource,
} from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing } from '../chart/helm.ts'
import { type ChartAccounts, createChartAccounts, openAccounts, refusalOf } from '../support/chart-accounts.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'

const cluster = await findCluster(import.meta.filename)
const secrets: Resource<KubeObject> = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' }
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'new' },
  spec: { containers: [{ name: 'main', image: 'x:1' }] },
} as never
const lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'matte-controller' },
  spec: {},
} as never

describe.skipIf(!cluster || findMissing('helm'))('the worker of the chart', () => {
  const namespace = useNamespace(cluster)
  let accounts: ChartAccounts | undefined
  let worker: KubeClient

  beforeAll(async () => {
    if (cluster === undefined) return
    await installPoolDefinition(cluster)
    accounts = await createChartAccounts(cluster, namespace.name())
    worker = (await openAccounts(namespace, accounts)).worker
    const models = [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }]
    await namespace.kube().create(tritonPools, {
      apiVersion: 'matte.dev/v1alpha1',
      kind: 'TritonPool',
      metadata: { name: 'read' },
      spec: { models } as unknown as TritonPool['spec'],
    })
  })
  afterAll(() => accounts?.end())

  it('reads pools and endpoints', async () => {
    for (const resource of [tritonPools, endpointSlices] as Resource<KubeObject>[]) {
      const { resourceVersion } = await worker.list(resource)
      const watching = worker.watch(resource, {
        resourceVersion,
        timeoutSeconds: 1,
        signal: AbortSignal.timeout(30_000),
      })
      for await (const event of watching) expect(event).toBeDefined()
    }
    expect((await worker.get(tritonPools, 'read'))?.metadata.name).toBe('read')
  })

  it.each<[string, (worker: KubeClient) => Promise<unknown>]>([
    [
      'patch a Deployment',
      (worker) => worker.mergePatch(deployments, 'matte-api', { metadata: { labels: { a: 'b' } } }),
    ],
    ['read a Deployment', (worker) => worker.get(deployments, 'matte-api')],
    ['create a pod', (worker) => worker.create(pods, pod)],
    ['read a Secret', (worker) => worker.get(secrets, 'matte-secrets')],
    ['list Secrets', (worker) => worker.list(secrets)],
    ['change a pool', (worker) => worker.mergePatch(tritonPools, 'read', { spec: { image: 'example/other:1' } })],
    [
      'change the status of a pool',
      (worker) => worker.mergePatch(tritonPools, 'read', { status: {} }, { subresource: 'status' }),
    ],
    ['delete a pool', (worker) => worker.delete(tritonPools, 'read')],
    ['take the Lease', (worker) => worker.create(leases, lease)],
  ])('cannot %s', async (_what, request) => {
    expect(await refusalOf(() => request(worker))).toMatch(/^403 /)
  })
})
