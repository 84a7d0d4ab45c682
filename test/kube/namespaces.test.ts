// One operator over several namespaces, with the rights of the chart: its release's, one of a team, and one whose Roles
// are missing at first.
import { Writable } from 'node:stream'
import { deployments, events, services } from '@matte/controller/operator/kube/client'
import { tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing } from '../chart/helm.ts'
import { type ChartAccounts, createChartAccounts, openAccounts, refusalOf } from '../support/chart-accounts.ts'
import { useDatabase } from '../support/database.ts'
import { type countOf, findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { poolClient, reasonOf, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)

const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', clusterScoped: true } as const
const scaling = { owner: 'external' } as const
const rollout = { steps: [], gate: { minRequests: 0 } }

describe.skipIf(!cluster || findMissing('helm'))('an operator of several namespaces', () => {
  const database = useDatabase()
  const home = useNamespace(cluster)
  const team = useNamespace(cluster)
  const closed = useNamespace(cluster)
  const logged: { msg?: string; namespace?: string; level?: number }[] = []
  const lines = new Writable({
    write: (line, _encoding, done) => {
      logged.push(JSON.parse(String(line)))
      done()
    },
  })
  const [atHome, inTeam, inClosed] = [home, team, closed].map((one) => poolClient(one.kube)) as [Pools, Pools, Pools]
  let accounts: ChartAccounts | undefined
  let opened: ChartAccounts | undefined
  let operator: TestOperator

  beforeAll(async () => {
    if (cluster === undefined) return
    await installPoolDefinition(cluster)
    accounts = await createChartAccounts(cluster, home.name(), ['--set', `operator.namespaces={${team.name()}}`])
    operator = await startOperator({
      db: database.db,
      namespace: home.name(),
      moreNamespaces: [team.name(), closed.name()],
      kubeconfigs: accounts.kubeconfigs,
      logger: pino({ level: 'info' }, lines),
    })
  })
  afterAll(async () => {
    await operator?.stop()
    await opened?.end()
    await accounts?.end()
  })

  const readable = (namespace: string) =>
    operator.registry
      .getSingleMetric('matte_kube_namespace_readable')
      ?.get()
      .then(({ values }) => values.find(({ labels }) => labels.watched_namespace === namespace)?.value)

  it('runs a pool in each, with its objects and Events, although it may not list one namespace', async () => {
    await atHome.apply('home', { replicas: 1, scaling, rollout })
    await inTeam.apply('team', { replicas: 2, scaling, rollout })
    await inClosed.apply('closed', { replicas: 1, scaling, rollout })
    await atHome.until('home', 'is ready', (status) => reasonOf(status, 'Ready') === 'Available')
    await inTeam.until('team', 'has two pods', ({ readyReplicas }) => readyReplicas === 2)
    await until(
      'the worker routes to all three',
      () => [operator.routes('home').length, operator.routes('team').length].join() === '1,2',
    )
    await team.kube().mergePatch(tritonPools, 'team', { spec: { replicas: 1 } })
    await inTeam.until(
      'team',
      'has one pod',
      ({ replicas, drainingReplicas }) => replicas === 1 && drainingReplicas === 0,
    )
    for (const [kube, own] of [
      [home.kube(), 'home'],
      [team.kube(), 'team'],
    ] as const) {
      const labelSelector = 'matte.dev/pool'
      const { items } = await kube.list(deployments, { labelSelector })
      expect(items.map(({ metadata }) => metadata.labels?.['matte.dev/pool'])).toEqual([own])
      await until(`${own} has its Event`, async () =>
        (await kube.list(events, { fieldSelector: 'reason=ScaledUp' })).items.some(
          ({ involvedObject }) => involvedObject.name === own && involvedObject.namespace === kube.namespace,
        ),
      )
    }
    expect(await readable(team.name())).toBe(1)
    expect(await readable(closed.name())).toBe(0)
    const [first, ...more] = logged.filter(({ msg = '' }) => msg.includes('refuses to list a watched namespace'))
    expect(first?.namespace).toBe(closed.name())
    // The operator logs it once, and so does the worker.
    expect(more).toHaveLength(1)
    // The default of the definition.
    expect((await inClosed.get('closed'))?.status).toEqual({ observedGeneration: 0 })
  })

  it('may write only in the namespaces of the values, regardless of Roles in others', async () => {
    if (accounts === undefined) return
    const { operator: account } = await openAccounts(home, accounts)
    const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'roles', kind: 'Role' }
    const binding = { ...rbac, plural: 'rolebindings', kind: 'RoleBinding' }
    const metadata = { name: 'too-much' }
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const rules = [{ apiGroups: [''], resources: ['services'], verbs: ['create'] }]
    await closed.kube().create(rbac, { apiVersion, kind: 'Role', metadata, rules } as never)
    await closed.kube().create(binding, {
      apiVersion,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'too-much' },
      subjects: [{ kind: 'ServiceAccount', name: 'matte-operator', namespace: home.name() }],
    } as never)
    const create = async (namespace: string): Promise<string> =>
      await refusalOf(() => account.in(namespace).create(services, serviceOf('team')))
    await until('the policy refuses it', async () =>
      /writes only in the namespace of its release/.test(await create(closed.name())),
    )
    expect(await create(team.name())).toBe('')
    await team.kube().delete(services, 'forged')
  })

  it('starts to operate a namespace once its Roles exist', async () => {
    if (cluster === undefined) return
    const list = `operator.namespaces={${team.name()},${closed.name()}}`
    opened = await createChartAccounts(cluster, home.name(), ['--set', list])
    await inClosed.until('closed', 'is ready', (status) => reasonOf(status, 'Ready') === 'Available')
    await until('the worker routes to it', () => operator.routes('closed').length === 1)
    expect(await readable(closed.name())).toBe(1)
    expect(logged.some(({ msg }) => msg === 'watched namespace readable again')).toBe(true)
  })

  it('operates the older of two pools with one name, and the younger after its deletion', async () => {
    await inTeam.apply('twice', { replicas: 1, scaling, rollout })
    await inTeam.until('twice', 'is ready', (status) => reasonOf(status, 'Ready') === 'Available')
    await until('the clock shows another second', async () => {
      const { items } = await team.kube().list(tritonPools)
      const { creationTimestamp = '' } = items.find(({ metadata }) => metadata.name === 'twice')?.metadata ?? {}
      return Date.now() > Date.parse(creationTimestamp) + 1_000
    })
    await atHome.apply('twice', { replicas: 1, scaling, rollout })
    const younger = await atHome.until(
      'twice',
      'is refused',
      (status) => reasonOf(status, 'Ready', 'False') === 'NameTaken',
    )
    expect(reasonOf(younger.status ?? {}, 'Stalled')).toBe('NameTaken')
    const message = younger.status?.conditions?.[0]?.message
    expect(message).toContain(`The older pool of namespace ${team.name()} has the name twice`)
    await until(
      'an Event says so',
      async () => (await home.kube().list(events, { fieldSelector: 'reason=NameTaken' })).items.length === 1,
    )
    expect(await atHome.deployments('twice')).toEqual([])
    expect(operator.routes('twice')).toHaveLength(1)
    await team.kube().delete(tritonPools, 'twice')
    await atHome.until('twice', 'is ready', (status) => reasonOf(status, 'Ready') === 'Available')
    await until('the worker routes to the pod of the younger', () => operator.routes('twice').length === 1)
  })

  it('continues with the others when a namespace is deleted', async () => {
    await team.kube().delete(namespaces, team.name())
    await until('the namespace is gone', async () => (await team.kube().get(namespaces, team.name())) === undefined)
    await until('nothing is sent there', () => operator.routes('team').length === 0)
    await home.kube().mergePatch(tritonPools, 'home', { spec: { replicas: 2 } })
    await atHome.until('home', 'has two pods', ({ readyReplicas }) => readyReplicas === 2)
    await until('metrics of the pool are gone', async () => {
      const metric = operator.registry.getSingleMetric('matte_pool_replicas') as Parameters<typeof countOf>[0]
      return (await metric.get()).values.every(({ labels }) => (labels as { pool?: string }).pool !== 'team')
    })
  })
})

type Pools = ReturnType<typeof poolClient>

const serviceOf = (pool: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: 'forged',
    labels: { 'app.kubernetes.io/managed-by': 'matte-controller', 'matte.dev/pool': pool },
    ownerReferences: [
      { apiVersion: 'matte.dev/v1alpha1', kind: 'TritonPool', name: pool, uid: 'none', controller: true },
    ],
  },
  spec: { clusterIP: 'None', selector: { 'matte.dev/pool': pool }, ports: [{ port: 8001 }] },
})
