// An admission policy is tightened under running pools and then the leader changes, so its fencing token is refused.
// A pool continues if its Deployments and its status can be fenced; otherwise it is closed and reports it. The
// operator has the service account of the chart, so the fence needs no further permission.
import { deployments, events, services } from '@matte/controller/operator/kube/client'
import type { PoolStatus } from '@matte/controller/operator/pool/pool-status'
import { tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findMissing } from '../chart/helm.ts'
import { allowUpdates, refuseUpdates } from '../support/admission/refuse-updates.ts'
import { type ChartAccounts, createChartAccounts } from '../support/chart-accounts.ts'
import { useDatabase } from '../support/database.ts'
import { countOf, findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { poolClient, reasonOf, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)

describe.skipIf(!cluster || findMissing('helm'))('a leader whose fencing token an object refuses', () => {
  const database = useDatabase()
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let accounts: ChartAccounts | undefined
  let operator: TestOperator
  let count = 0
  let name: string
  const start = async () => {
    const kubeconfigs = accounts?.kubeconfigs
    const where = { db: database.db, namespace: namespace.name() }
    operator = await startOperator({ ...where, ...(kubeconfigs && { kubeconfigs }) })
  }
  const scaling = { owner: 'external' } as const
  const scaleTo = (replicas: number) => namespace.kube().mergePatch(tritonPools, name, { spec: { replicas } })

  beforeAll(async () => {
    if (cluster === undefined) return
    await installPoolDefinition(cluster)
    accounts = await createChartAccounts(cluster, namespace.name())
    await start()
  })
  beforeEach(async () => {
    count += 1
    name = `tight-${count}`
    await pools.apply(name, { replicas: 1, scaling })
    await pools.until(name, 'serves', (now) => reasonOf(now, 'Ready') === 'Available')
  })
  afterEach(async () => {
    await allowUpdates(namespace.kube())
    await namespace.kube().delete(tritonPools, name)
  })
  afterAll(async () => {
    await operator?.stop()
    await accounts?.end()
  })

  /** Ends the leader; the next one begins under the policy. */
  async function changeLeader(...resources: [group: string, ...resources: string[]][]): Promise<void> {
    await operator.stop()
    await refuseUpdates(namespace.kube(), { resources, of: `object.metadata.name.startsWith('${name}')` })
    await start()
  }
  const messageOf = ({ conditions }: Partial<PoolStatus>, type: string) =>
    conditions?.find((condition) => condition.type === type)?.message
  const closed = () => countOf(operator.registry.getSingleMetric('matte_pool_closed') as never, { pool: name })
  const eventOf = (reason: string) =>
    until(`an Event of reason ${reason}`, async () => {
      const { items } = await namespace.kube().list(events)
      return items.find((event) => event.reason === reason && event.involvedObject.name === name)
    })
  const scaleIt = async () => {
    await scaleTo(2)
    await pools.until(name, 'has grown', ({ readyReplicas }) => readyReplicas === 2)
    await scaleTo(1)
    await pools.until(name, 'has shrunk', (now) => now.replicas === 1 && now.drainingReplicas === 0)
  }

  it.each<[what: string, kind: string, resources: [group: string, ...resources: string[]][]]>([
    ['Deployments', 'Deployment', [['apps', 'deployments']]],
    ['Services', 'Service', [['', 'services']]],
    ['budgets', 'PodDisruptionBudget', [['policy', 'poddisruptionbudgets']]],
  ])('scales a pool up and down whose %s cannot be updated, and reports it', async (_what, kind, resources) => {
    await changeLeader(...resources)
    await scaleIt()
    const { status = {} } = await pools.until(name, 'is Degraded', (now) => reasonOf(now, 'Degraded') !== undefined)
    expect(reasonOf(status, 'Degraded')).toBe('ChangeRefused')
    expect(messageOf(status, 'Degraded')).toMatch(
      new RegExp(`^Kubernetes refuses to update ${kind} ${name}.*not this one`),
    )
    expect(reasonOf(status, 'Ready')).toBe('ChangeRefused')
    expect(await closed()).toBe(0)
    await allowUpdates(namespace.kube())
    await pools.until(name, 'is well', (now) => reasonOf(now, 'Degraded', 'False') === 'NothingWrong')
    const token = await until('the token is written', async () => {
      const kube = namespace.kube()
      const [deployment] = await pools.deployments(name)
      const service = deployment && (await kube.get(services, deployment.metadata.name))
      const tokens = [deployment, service].map((object) => object?.metadata.annotations?.['matte.dev/leader-term'])
      return tokens[0] !== undefined && tokens[0] === tokens[1] && tokens[0]
    })
    const { leaderTerm, leaderLease } = (await pools.get(name)).status ?? {}
    expect(token).toBe(`${leaderTerm}/${leaderLease}`)
  })

  it('closes a pool whose Deployment cannot be fenced, reports it, and leads the others', async () => {
    await changeLeader(['apps', 'deployments', 'deployments/scale'])
    const { status = {} } = await pools.until(name, 'is closed', (now) => reasonOf(now, 'Ready', 'False'))
    for (const type of ['Ready', 'ScalingActive']) expect(reasonOf(status, type, 'False')).toBe('FencingRefused')
    for (const type of ['Degraded', 'Stalled']) expect(reasonOf(status, type)).toBe('FencingRefused')
    expect(messageOf(status, 'Ready')).toMatch(/^Deployment tight-\d+-\w+ refuses the leader's.*not this one.*Allow/)
    await eventOf('FencingRefused')
    expect(await closed()).toBe(1)
    await scaleTo(2)
    await pools.apply('open', {})
    await pools.until('open', 'serves', (now) => reasonOf(now, 'Ready') === 'Available')
    expect((await pools.deployments(name)).map(({ spec }) => spec.replicas)).toEqual([1])
    await allowUpdates(namespace.kube())
    await pools.until(name, 'is led again', ({ readyReplicas }) => readyReplicas === 2)
    await pools.until(name, 'is well', (now) => reasonOf(now, 'Ready') === 'Available')
    expect(await closed()).toBe(0)
  })

  it('closes a pool whose status refuses the token, and reports it by a metric and an Event', async () => {
    await changeLeader(['matte.dev', 'tritonpools/status'])
    expect((await eventOf('FencingRefused')).message).toMatch(
      /^TritonPool tight-\d+ refuses the leader's fencing token/,
    )
    await until('the gauge shows it', async () => (await closed()) === 1)
    await scaleTo(2)
    await allowUpdates(namespace.kube())
    await pools.until(name, 'is led again', ({ readyReplicas }) => readyReplicas === 2)
  })

  it('does not change a Deployment that it fences through its scale', async () => {
    const [before] = await pools.deployments(name)
    await changeLeader(['apps', 'deployments'])
    const after = await until('the Deployment is fenced', async () => {
      const live = await namespace.kube().get(deployments, before?.metadata.name ?? '')
      return live?.metadata.managedFields?.some(({ manager }) => manager?.startsWith('matte-controller-term-')) && live
    })
    expect(after.spec).toEqual(before?.spec)
    expect(after.metadata.generation).toBe(before?.metadata.generation)
    expect(after.metadata.annotations).toEqual(before?.metadata.annotations)
    expect(after.metadata.resourceVersion).not.toBe(before?.metadata.resourceVersion)
  })
})
