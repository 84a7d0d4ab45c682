import { isDeepStrictEqual } from 'node:util'
import { deployments, events, leases, podDisruptionBudgets, services } from '@matte/controller/operator/kube/client'
import { tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { listModels } from '@matte/core/model/model-queries'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { givenTask, givenWorkspace } from '../support/factories.ts'
import { countOf, findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { poolClient, reasonOf, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)

describe.skipIf(!cluster)('the life of a pool', () => {
  const database = useDatabase()
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let operator: TestOperator
  const start = () => startOperator({ db: database.db, namespace: namespace.name() })
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
    operator = await start()
  })
  afterAll(() => operator?.stop())

  const eventsWith = async (reason: string): Promise<string[]> => {
    const { items } = await namespace.kube().list(events)
    return items.filter((event) => event.reason === reason).map((event) => event.message)
  }

  it('becomes a Deployment, a Service and a budget, and reports when it serves requests', async () => {
    await pools.apply('first')
    const { status } = await pools.until(
      'first',
      'is ready',
      (now) => reasonOf(now, 'Ready') === 'Available' && reasonOf(now, 'ModelLoaded'),
    )
    expect(status).toMatchObject({ readyReplicas: 1, desiredReplicas: 1 })
    expect(status?.models).toMatchObject([{ active: { state: 'Loaded' }, transition: 'UpToDate' }])
    const [deployment] = await pools.deployments('first')
    expect(deployment?.metadata.name).toBe(`first-${status?.rollout?.stable}`)
    expect(await namespace.kube().get(services, deployment?.metadata.name ?? '')).toBeDefined()
    expect(await namespace.kube().get(podDisruptionBudgets, 'first')).toBeDefined()
    await until('an Event reports it', async () => (await eventsWith('ScaledUp'))[0]?.startsWith('0 → 1'))
  })

  it('is listed with its model, so tasks may name it', async () => {
    await until('the model is known', async () => {
      const models = await listModels(database.db)
      return models.some(({ name, pool, available }) => name === 'first' && pool === 'first' && available)
    })
  })

  it('sends the API server no writes while nothing changes', async () => {
    await pools.until('first', 'is settled', (now) => reasonOf(now, 'Progressing', 'False') === 'Settled')
    const requests = async (metric: string, labels: Record<string, string>) =>
      countOf(operator.registry.getSingleMetric(metric) as never, labels)
    const passes = () => requests('matte_reconcile_total', { queue: 'pools' })
    const of = (verb: string, resource?: string) =>
      requests('matte_kube_requests_total', { verb, ...(resource && { resource }) })
    // Ignores `update`, which renews the Lease, and the status, which is written once a minute.
    const statuses = () => of('apply', 'tritonpools/status')
    const writes = async () => {
      const made = (await of('create')) + (await of('delete')) + (await of('patch'))
      return made + (await of('apply')) - (await statuses())
    }
    const [seen, written, status] = [await passes(), await writes(), await statuses()]
    await until('five more reconcile passes', async () => (await passes()) >= seen + 5)
    expect(await writes()).toBe(written)
    expect(await statuses()).toBeLessThanOrEqual(status + 1)
  })

  it('restores changed and deleted objects', async () => {
    const [deployment] = await pools.deployments('first')
    const name = deployment?.metadata.name ?? ''
    await namespace.kube().mergePatch(deployments, name, {
      spec: { template: { spec: { terminationGracePeriodSeconds: 1 } } },
    })
    await namespace.kube().delete(services, name)
    await until('the grace time is back', async () => {
      const now = await namespace.kube().get(deployments, name)
      return now?.spec.template.spec.terminationGracePeriodSeconds === 8
    })
    await until('the Service is back', () => namespace.kube().get(services, name))
  })

  it('wakes from zero for a task, and measures the delay', async () => {
    await pools.apply('sleeper', { scaling: { minReplicas: 0, maxReplicas: 3 } })
    await pools.until('sleeper', 'is at zero', (now) => reasonOf(now, 'Ready') === 'AtZero')
    expect(await pools.pods('sleeper')).toEqual([])
    await givenTask(database.db, await givenWorkspace(database.db), { model: 'sleeper' })
    const { status } = await pools.until('sleeper', 'has a pod', ({ readyReplicas = 0 }) => readyReplicas > 0)
    expect(status?.scalingHistory?.at(-1)).toMatchObject({ from: 0, to: 1, rule: 'wake' })
    const decisions = operator.registry.getSingleMetric('matte_scale_decisions_total') as never
    expect(await countOf(decisions, { pool: 'sleeper', rule: 'wake', direction: 'up' })).toBe(1)
    const limits = operator.registry.getSingleMetric('matte_pool_replicas_limit') as never
    expect(await countOf(limits, { pool: 'sleeper', bound: 'max' })).toBe(3)
    const conditions = operator.registry.getSingleMetric('matte_pool_condition') as never
    await until('the metric of its condition follows', async () => {
      return (await countOf(conditions, { pool: 'sleeper', condition: 'Ready' })) === 1
    })
    const delay = operator.registry.getSingleMetric('matte_scale_decision_delay_seconds')
    const { values } = (await delay?.get()) ?? { values: [] }
    expect(values.find((value) => 'metricName' in value && `${value.metricName}`.endsWith('_count'))?.value).toBe(1)
  })

  it('has the number of pods that an external owner writes to the scale subresource', async () => {
    await pools.apply('external', { replicas: 0, scaling: { owner: 'external' } })
    await pools.until('external', 'is seen', (now) => reasonOf(now, 'ScalingActive', 'False') === 'ExternalOwner')
    // Read by a scaler from zero; it needs no pod.
    const demand = operator.registry.getSingleMetric('matte_pool_demand') as never
    const wanted = () => countOf(demand, { pool: 'external', term: 'wantedPods' })
    await givenTask(database.db, await givenWorkspace(database.db), { model: 'external' })
    await until('the demand on no pods is reported', async () => (await wanted()) === 1)
    expect(await pools.pods('external')).toEqual([])
    const scale = { spec: { replicas: 2 } }
    await namespace.kube().mergePatch(tritonPools, 'external', scale, { subresource: 'scale' })
    const { status } = await pools.until('external', 'has two pods', ({ readyReplicas }) => readyReplicas === 2)
    expect(status?.selector).toContain('matte.dev/pool=external')
    await namespace.kube().mergePatch(tritonPools, 'external', { spec: { replicas: 1 } }, { subresource: 'scale' })
    await pools.until(
      'external',
      'has one',
      ({ replicas, drainingReplicas }) => replicas === 1 && drainingReplicas === 0,
    )
  })

  it('keeps the older of two otherwise equal pods, and sets the deletion cost of the other', async () => {
    const old = await until('one pod is there', async () => {
      const [first, ...others] = await pools.pods('external')
      return others.length === 0 && first
    })
    await namespace.kube().mergePatch(tritonPools, 'external', { spec: { replicas: 2 } }, { subresource: 'scale' })
    await pools.until('external', 'has two pods', ({ readyReplicas }) => readyReplicas === 2)
    await namespace.kube().mergePatch(tritonPools, 'external', { spec: { replicas: 1 } }, { subresource: 'scale' })
    const victim = await until('a pod has the deletion cost', async () =>
      (await pools.pods('external')).find(
        ({ metadata }) => metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] === '-1',
      ),
    )
    expect(victim.metadata.name).not.toBe(old.metadata.name)
    await until('one pod is left', async () => {
      const left = await pools.pods('external')
      return left.length === 1 && left[0]?.metadata.name === old.metadata.name
    })
  })

  it('is deleted with all objects while no operator runs', async () => {
    await operator.stop()
    await namespace.kube().delete(tritonPools, 'first')
    await until('nothing of it is left', async () => {
      const left = [...(await pools.deployments('first')), ...(await pools.pods('first'))]
      const budget = await namespace.kube().get(podDisruptionBudgets, 'first')
      return left.length === 0 && budget === undefined
    })
    operator = await start()
  })

  it('continues under another operator after the first has stopped', async () => {
    const leads = () => countOf(operator.registry.getSingleMetric('matte_leader') as never)
    await until('the first leads', async () => (await leads()) === 1)
    const termOf = async () => (await namespace.kube().get(leases, 'matte-controller'))?.spec?.leaseTransitions ?? 0
    const before = await termOf()
    const second = await start()
    const poolsIn = async ({ registry }: TestOperator): Promise<Set<string>> =>
      new Set([...(await registry.metrics()).matchAll(/^matte_.*[{,]pool="([^"]+)"/gm)].map(([, pool = '']) => pool))
    const live = new Set(['external', 'sleeper'])
    await until('the leader reports the pools that there are', async () =>
      isDeepStrictEqual(await poolsIn(operator), live),
    )
    expect(await poolsIn(second)).toEqual(new Set())
    await operator.stop()
    expect(await poolsIn(operator)).toEqual(new Set())
    operator = second
    await until('the second leads', async () => (await leads()) === 1)
    await until('it reports the pools', async () => isDeepStrictEqual(await poolsIn(operator), live))
    expect(await termOf()).toBeGreaterThan(before)
    await namespace.kube().mergePatch(tritonPools, 'external', { spec: { replicas: 0 } }, { subresource: 'scale' })
    const { status } = await pools.until(
      'external',
      'is at zero',
      ({ replicas, desiredReplicas }) => replicas === 0 && desiredReplicas === 0,
    )
    expect(status?.leaderTerm).toBe(await termOf())
    const [deployment] = await pools.deployments('external')
    expect(deployment?.metadata.annotations?.['matte.dev/leader-term']).toBe(
      `${status?.leaderTerm}/${status?.leaderLease}`,
    )
  })

  it('begins a new term with a recreated Lease, although its count is the same', async () => {
    const before = (await pools.get('external')).status
    await operator.stop()
    await namespace.kube().delete(leases, 'matte-controller')
    operator = await start()
    const { status } = await pools.until('external', 'is in the new term', ({ leaderLease }) => {
      return leaderLease !== undefined && leaderLease !== before?.leaderLease
    })
    expect(status?.leaderTerm).toBe(1)
    await until('the Service has its fencing token', async () => {
      const [deployment] = await pools.deployments('external')
      const service = await namespace.kube().get(services, deployment?.metadata.name ?? '')
      return service?.metadata.annotations?.['matte.dev/leader-term'] === `1/${status?.leaderLease}`
    })
    await namespace.kube().mergePatch(tritonPools, 'external', { spec: { replicas: 1 } }, { subresource: 'scale' })
    await pools.until('external', 'has one pod', ({ readyReplicas }) => readyReplicas === 1)
  })
})
