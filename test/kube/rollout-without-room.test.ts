// A rollout and its rollback in a namespace whose quota allows only the desired pods.
import type { Resource } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { retryAnnotation } from '@matte/controller/operator/pool/owner-requests'
import { type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { patchWithEnv, poolClient, reasonOf, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)
const quotas: Resource<KubeObject> = { group: '', version: 'v1', plural: 'resourcequotas', kind: 'ResourceQuota' }
const replicas = 3
const scaling = { minReplicas: replicas, maxReplicas: replicas }
const gate = { minRequests: 0, readySeconds: 60 }
/** Stays in its step. */
const steps = [{ weight: 60, durationSeconds: 3_600 }]
const next = { podPatch: { metadata: { annotations: { note: 'new' } } } }

describe.skipIf(!cluster)('a rollout without room', () => {
  const database = useDatabase()
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let operator: TestOperator
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
    operator = await startOperator({ db: database.db, namespace: namespace.name() })
  })
  afterAll(() => operator?.stop())

  /** Waits for the condition; returns the fewest ready pods meanwhile. */
  async function fewestUntil(
    what: string,
    is: (status: NonNullable<TritonPool['status']>) => unknown,
  ): Promise<number> {
    let fewest = replicas
    await pools.until('cramped', what, (status) => {
      fewest = Math.min(fewest, status.readyReplicas ?? 0)
      return is(status)
    })
    return fewest
  }

  it.each([
    [{ maxSurge: 0 }, 'set one of them to 1'],
    [{ maxSurge: '0%', maxUnavailable: '0%' }, 'set rollout.strategy to Recreate'],
    [{ maxSurge: 'one' }, 'should match'],
    [{ maxUnavailable: -1 }, 'should be greater than or equal to 0'],
  ])('is rejected if it may replace no pod, or has an invalid number: %j', async (rollout, message) => {
    await expect(pools.apply('refused', { rollout })).rejects.toThrow(message)
  })

  it.each([
    { maxSurge: '25%' },
    { maxSurge: 0, maxUnavailable: '10%' },
    { maxSurge: 0, strategy: 'Recreate' as const },
  ])('accepts %j', async (rollout) => {
    const pool = await pools.apply('accepted', { rollout, scaling: { minReplicas: 0 } })
    expect(pool.spec.rollout).toMatchObject(rollout)
  })

  it('waits, makes room if allowed, and rolls back the same way', async () => {
    await pools.apply('cramped', { scaling })
    await pools.until('cramped', 'serves', ({ readyReplicas }) => readyReplicas === replicas)
    await namespace.kube().create(quotas, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'full' },
      spec: { hard: { pods: String(replicas) } },
    } as KubeObject)
    await until('the quota counts the pods', async () => {
      const { status } = ((await namespace.kube().get(quotas, 'full')) ?? {}) as {
        status?: { used?: { pods?: string } }
      }
      return status?.used?.pods === String(replicas)
    })
    await pools.apply('cramped', { scaling, rollout: { steps, gate }, ...next })
    const waits = await pools.until('cramped', 'waits for room', ({ rollout }) => rollout?.waiting?.for === 'Room')
    expect(waits.status?.readyReplicas).toBe(replicas)
    // If a quota refuses a surge pod, Kubernetes retries only after as long as the quota was full.
    const lenient = { steps, gate, maxSurge: 0, maxUnavailable: 1 }
    await pools.apply('cramped', { scaling, rollout: lenient, ...next })
    const there = await fewestUntil('has its share', ({ rollout }) => rollout?.weightReached)
    expect(there).toBe(replicas - 1)
    await pools.apply('cramped', { scaling, rollout: lenient })
    const back = await fewestUntil(
      'is rolled back',
      ({ rollout, readyReplicas }) => rollout?.canary === undefined && readyReplicas === replicas,
    )
    expect(back).toBe(replicas - 1)
  })

  it('stops all old pods first with strategy Recreate, and rolls back a revision that does not load', async () => {
    const rollout = { strategy: 'Recreate', gate: { ...gate, readySeconds: 10 } } as const
    const before = await pools.get('cramped')
    const podPatch = patchWithEnv(before, { FAKE_FAIL_MODEL: 'u2netp' })
    await pools.apply('cramped', { scaling, rollout, podPatch })
    const gap = await pools.until('cramped', 'has no pod', ({ rollout: now }) => now?.unservedSince)
    expect(reasonOf(gap.status ?? {}, 'Ready')).toBeUndefined()
    await pools.until('cramped', 'is rolled back', (now) => reasonOf(now, 'RolledBack') === 'CanaryLoadFailed')
    const { status } = await pools.until('cramped', 'serves', ({ readyReplicas }) => readyReplicas === replicas)
    expect(status?.rollout?.unservedSince).toBeUndefined()
  })

  it('retries a rolled-back revision by the annotation, and reports an invalid time', async () => {
    const annotate = (value: string) =>
      namespace.kube().mergePatch(tritonPools, 'cramped', { metadata: { annotations: { [retryAnnotation]: value } } })
    await annotate('now')
    await pools.until('cramped', 'reports the value', (now) => reasonOf(now, 'Degraded') === 'AnnotationIgnored')
    const { status } = await pools.get('cramped')
    const failed = status?.rollout?.failed
    const value = new Date(Date.parse(failed?.time ?? '') + 1_000).toISOString()
    await annotate(value)
    const again = await pools.until('cramped', 'tries it again', ({ rollout }) => rollout?.canary === failed?.revision)
    expect(again.status?.rollout).toMatchObject({ retried: value })
    const second = await pools.until('cramped', 'is rolled back again', ({ rollout }) => rollout?.failed)
    expect(second.status?.rollout).toMatchObject({ retried: value })
    expect(Date.parse(second.status?.rollout?.failed?.time ?? '')).toBeGreaterThan(Date.parse(failed?.time ?? ''))
  })
})
