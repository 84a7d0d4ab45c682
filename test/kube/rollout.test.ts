import { events, podDisruptionBudgets } from '@matte/controller/operator/kube/client'
import { revisionLabel } from '@matte/controller/operator/pool/labels'
import type { PoolSpecInput, TritonPool } from '@matte/controller/operator/pool/triton-pool'
import { emptyBuckets } from '@matte/core/latency'
import { listModels } from '@matte/core/model/model-queries'
import { recordInference } from '@matte/core/scale/inference-queries'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import {
  modelOf,
  patchWithEnv,
  poolClient,
  reasonOf,
  startOperator,
  type TestOperator,
} from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)

/** Another revision of the same pods. */
const changed = (note: string): Partial<PoolSpecInput> => ({ podPatch: { metadata: { annotations: { note } } } })
const gate = { minRequests: 0, readySeconds: 60 }
const quick = { steps: [{ weight: 50, durationSeconds: 0 }], gate }
/** Steps never end by themselves. */
const patient = { steps: [{ weight: 50, durationSeconds: 3_600 }], gate }

describe.skipIf(!cluster)('a changed pool', () => {
  const database = useDatabase()
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let operator: TestOperator
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
    operator = await startOperator({ db: database.db, namespace: namespace.name() })
  })
  afterAll(() => operator?.stop())

  const ready = async (name: string, spec: Partial<PoolSpecInput> = {}): Promise<TritonPool> => {
    await pools.apply(name, spec)
    return pools.until(
      name,
      'serves',
      (now) => reasonOf(now, 'Ready') === 'Available' && reasonOf(now, 'Progressing', 'False'),
    )
  }
  const stableOf = ({ status }: TritonPool): string => status?.rollout?.stable ?? ''
  const reasonsOf = async (name: string): Promise<string[]> => {
    const { items } = await namespace.kube().list(events)
    return items.filter(({ involvedObject }) => involvedObject.name === name).map(({ reason }) => reason)
  }

  it('moves to the new revision step by step, and removes the old one', async () => {
    const before = stableOf(await ready('happy', { rollout: quick }))
    await pools.apply('happy', { rollout: quick, ...changed('new') })
    const after = await pools.until('happy', 'has gone over', (now) => now.rollout?.stable !== before)
    const revision = stableOf(after)
    await until('only the new Deployment is left', async () => {
      const names = (await pools.deployments('happy')).map(({ metadata }) => metadata.name)
      return names.join() === `happy-${revision}`
    })
    expect(await reasonsOf('happy')).toEqual(
      expect.arrayContaining(['RolloutStarted', 'RolloutStep', 'RolloutPromoted']),
    )
    await pools.until('happy', 'is settled', (now) => reasonOf(now, 'Ready') === 'Available')
  })

  it('has a disruption budget for the serving pods before, during and after a rollout', async () => {
    const selects = async () => (await namespace.kube().get(podDisruptionBudgets, 'guarded'))?.spec.selector
    const absent = [{ ...modelOf('guarded'), name: 'absent' }]
    const first = stableOf(await ready('guarded', { rollout: quick }))
    await pools.apply('guarded', { rollout: quick, ...changed('new') })
    const after = await pools.until('guarded', 'has gone over', ({ rollout }) => rollout?.stable !== first)
    await pools.until('guarded', 'is settled', (now) => reasonOf(now, 'Progressing', 'False') === 'Settled')
    await until('the budget is for all pods', async () => JSON.stringify(await selects()).includes('Exists'))
    await until('it counts the pod', async () => {
      const budget = await namespace.kube().get(podDisruptionBudgets, 'guarded')
      return budget?.status?.expectedPods === 1
    })
    await pools.apply('guarded', { rollout: patient, ...changed('new'), models: absent })
    const trying = await pools.until('guarded', 'tries the next', ({ rollout }) => rollout?.canary)
    const values = [trying.status?.rollout?.canary]
    await until('the budget leaves it out', async () => JSON.stringify(await selects()).includes('NotIn'))
    expect(await selects()).toMatchObject({ matchExpressions: [{ key: revisionLabel, operator: 'NotIn', values }] })
    await pools.apply('guarded', { rollout: patient, ...changed('new') })
    await until('the budget is for all again', async () => JSON.stringify(await selects()).includes('Exists'))
    expect(stableOf(after)).not.toBe(first)
  })

  it('never has fewer ready pods than desired', async () => {
    const before = stableOf(await ready('steady', { rollout: quick, scaling: { minReplicas: 2 } }))
    await pools.apply('steady', { rollout: quick, scaling: { minReplicas: 2 }, ...changed('new') })
    let fewest = Number.POSITIVE_INFINITY
    await pools.until('steady', 'has gone over', (now) => {
      fewest = Math.min(fewest, now.readyReplicas ?? 0)
      return now.rollout?.stable !== before && now.replicas === 2
    })
    expect(fewest).toBeGreaterThanOrEqual(2)
  })

  it('is rolled back when requests fail in the new revision, which is not retried', async () => {
    const before = stableOf(await ready('failing', { rollout: patient }))
    await pools.apply('failing', { rollout: patient, ...changed('bad') })
    const trying = await pools.until('failing', 'tries it', ({ rollout }) => (rollout?.weight ?? 0) > 0)
    const canary = trying.status?.rollout?.canary ?? ''
    const none = { timedOut: 0, unavailable: 0, busySeconds: 1, latencyBuckets: emptyBuckets() }
    await recordInference(database.db, 'test', [
      { pool: 'failing', revision: canary, done: 10, failed: 40, ...none },
      { pool: 'failing', revision: before, done: 50, failed: 0, ...none },
    ])
    const { status } = await pools.until(
      'failing',
      'is rolled back',
      (now) => reasonOf(now, 'RolledBack') === 'CanaryErrorRate',
    )
    expect(status?.rollout).toMatchObject({ stable: before, weight: 0, failed: { revision: canary } })
    await until('its Deployment is gone', async () => (await pools.deployments('failing')).length === 1)
    await pools.apply('failing', { rollout: patient, scaling: { maxReplicas: 9 }, ...changed('bad') })
    const later = await pools.until(
      'failing',
      'has seen the change',
      (now, pool) => now.observedGeneration === pool.metadata.generation,
    )
    expect(later.status?.rollout).toMatchObject({ stable: before, failed: { revision: canary } })
    await pools.apply('failing', { rollout: patient, ...changed('good') })
    await pools.until('failing', 'tries the next', ({ rollout }) => rollout?.failed === undefined && rollout?.canary)
  })

  it('gets the public names of the new revision at its promotion, and keeps the old ones until then', async () => {
    const names = async (): Promise<string[]> =>
      (await listModels(database.db)).flatMap(({ name, pool, available }) =>
        pool === 'named' && available ? [name] : [],
      )
    const before = stableOf(await ready('named', { rollout: patient }))
    const next = { rollout: patient, models: [modelOf('renamed')] }
    const broken = { ...next, models: [{ ...modelOf('renamed'), name: 'absent' }] }
    await pools.apply('named', broken)
    await pools.until('named', 'is blocked', ({ models }) => models?.[0]?.transition === 'BlockedByFailedLoad')
    expect(await names()).toEqual(['named'])
    await pools.apply('named', { ...next, ...changed('renamed') })
    const after = await pools.until('named', 'has gone over', ({ rollout }) => (rollout?.stable ?? before) !== before)
    await until('the new name is installed', async () => (await names()).join() === 'renamed')
    expect(operator.routes('named')).toContain(`${stableOf(after)} u2netp`)
  })

  it('is blocked by a model that does not load, reports why, and keeps serving', async () => {
    const before = stableOf(await ready('blocked', { rollout: patient }))
    const models = [{ ...modelOf('blocked'), name: 'absent' }]
    await pools.apply('blocked', { rollout: patient, models })
    const { status } = await pools.until(
      'blocked',
      'says why',
      ({ models: now }) => now?.[0]?.transition === 'BlockedByFailedLoad',
    )
    expect(status?.models?.[0]).toMatchObject({
      active: { revision: before, state: 'Loaded' },
      target: { state: 'FailedToLoad' },
      lastFailure: { reason: 'ModelLoadFailed' },
    })
    expect(operator.routes('blocked')).toEqual([`${before} u2netp`])
    expect(status?.rollout).toMatchObject({ stable: before, weight: 0 })
    expect(status?.readyReplicas).toBe(1)
    expect(reasonOf(status ?? {}, 'Degraded')).toBe('ModelLoadFailed')
    await pools.apply('blocked', { rollout: patient })
    await pools.until('blocked', 'is right again', (now) => reasonOf(now, 'Degraded', 'False') && !now.rollout?.canary)
  })

  it('sends no requests to pods whose model has another shape, and reports it', async () => {
    const pool = await ready('shapes', { rollout: patient })
    await pools.apply('shapes', { rollout: patient, podPatch: patchWithEnv(pool, { FAKE_WRONG_SHAPES: 'true' }) })
    const { status } = await pools.until('shapes', 'says so', (now) => reasonOf(now, 'Degraded') === 'ModelShapeWrong')
    expect(status?.rollout).toMatchObject({ stable: stableOf(pool), weight: 0, step: -1 })
  })

  it('replaces its canary by a newer change', async () => {
    const before = stableOf(await ready('hasty', { rollout: patient }))
    await pools.apply('hasty', { rollout: patient, ...changed('one') })
    const first = await pools.until('hasty', 'tries the first', ({ rollout }) => (rollout?.weight ?? 0) > 0)
    await pools.apply('hasty', { rollout: quick, ...changed('two') })
    const after = await pools.until(
      'hasty',
      'has gone over',
      ({ rollout }) => rollout?.stable !== before && !rollout?.canary,
    )
    expect(stableOf(after)).not.toBe(first.status?.rollout?.canary)
    await until('one Deployment is left', async () => (await pools.deployments('hasty')).length === 1)
  })

  it('at zero starts one pod of the new revision, and removes it once it was ready', async () => {
    const scaling = { minReplicas: 0 }
    await pools.apply('empty', { rollout: patient, scaling })
    const before = stableOf(await pools.until('empty', 'is at zero', (now) => reasonOf(now, 'Ready') === 'AtZero'))
    await pools.apply('empty', { rollout: patient, scaling, ...changed('new') })
    await until('a pod is started', async () => (await pools.pods('empty')).length === 1)
    await pools.until('empty', 'has gone over', ({ rollout }) => rollout?.stable !== before)
    await until('no pod is left', async () => (await pools.pods('empty')).length === 0)
  })
})
