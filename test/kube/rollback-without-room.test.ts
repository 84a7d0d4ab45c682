// A revision that is withdrawn late, in a namespace whose quota has no room for the old pods beside the new ones.
import type { Resource } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { poolClient, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)
const quotas: Resource<KubeObject> = { group: '', version: 'v1', plural: 'resourcequotas', kind: 'ResourceQuota' }
const replicas = 4
const spec = {
  rollout: { steps: [{ weight: 75, durationSeconds: 3_600 }], gate: { minRequests: 0, readySeconds: 60 } },
  scaling: { minReplicas: replicas, maxReplicas: replicas },
}

describe.skipIf(!cluster)('a rollback without room', () => {
  const database = useDatabase()
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let operator: TestOperator
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
    operator = await startOperator({ db: database.db, namespace: namespace.name() })
  })
  afterAll(() => operator?.stop())

  it('goes pod by pod, each when the one before it is replaced', async () => {
    await pools.apply('cramped', spec)
    await pools.until('cramped', 'serves', ({ readyReplicas }) => readyReplicas === replicas)
    await pools.apply('cramped', { ...spec, podPatch: { metadata: { annotations: { note: 'new' } } } })
    await pools.until('cramped', 'has its share', ({ rollout }) => rollout?.weight === 75)
    await until('no more pods are there than are wanted', async () => (await pools.pods('cramped')).length === replicas)
    await namespace.kube().create(quotas, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'full' },
      spec: { hard: { pods: String(replicas) } },
    } as KubeObject)
    await pools.apply('cramped', spec)
    let fewest = replicas
    let capacity: number | undefined
    await pools.until('cramped', 'is rolled back', ({ readyReplicas = 0, rollout }) => {
      fewest = Math.min(fewest, readyReplicas)
      capacity ??= rollout?.capacity
      return rollout?.canary === undefined && readyReplicas === replicas
    })
    expect(capacity).toBe(replicas)
    expect(fewest).toBe(replicas - 1)
  })
})
