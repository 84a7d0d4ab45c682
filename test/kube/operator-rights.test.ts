// Runs a pool with the service accounts of the chart: the operator with its Role and its admission policy, the
// routing of a worker with its own Role.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { rootDir } from '@matte/local/paths'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing } from '../chart/helm.ts'
import { type ChartAccounts, createChartAccounts } from '../support/chart-accounts.ts'
import { buildConfigMap, configMaps, withCount } from '../support/config-map.ts'
import { useDatabase } from '../support/database.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { modelOf, poolClient, reasonOf, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)

/** Rules of a table in docs/operator.md, one per row; `make gen` creates the chart's Roles from them. */
function readRights(mark: 'rights' | 'worker rights') {
  const page = readFileSync(join(rootDir, 'docs/operator.md'), 'utf8')
  const table = page.split(`<!-- ${mark}: `)[1]?.split('\n\n')[0] ?? ''
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
  return rows.map((row) => {
    const [, group = '', resource = '', , verbs = ''] = row.split('|').map((cell) => cell.trim())
    return { apiGroups: [group], resources: [resource], verbs: verbs.split(', ') }
  })
}

describe('the permissions', () => {
  it.each(['rights', 'worker rights'] as const)('(%s) are in alphabetical order, without wildcards', (mark) => {
    const rights = readRights(mark)
    expect(rights.length).toBeGreaterThan(1)
    const names = rights.map(({ apiGroups: [group], resources: [resource] }) => `${group}/${resource}`)
    expect(names).toEqual(names.toSorted())
    for (const { verbs } of rights) expect(verbs).toEqual(verbs.toSorted())
    expect(JSON.stringify(rights)).not.toContain('*')
  })

  it('let the worker get, list and watch TritonPools and EndpointSlices, and nothing else', () => {
    const verbs = ['get', 'list', 'watch']
    expect(readRights('worker rights')).toEqual([
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs },
      { apiGroups: ['matte.dev'], resources: ['tritonpools'], verbs },
    ])
  })
})

describe.skipIf(!cluster || findMissing('helm'))('a pool under only these permissions', () => {
  const database = useDatabase()
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let accounts: ChartAccounts | undefined
  let operator: TestOperator

  beforeAll(async () => {
    if (cluster === undefined) return
    await installPoolDefinition(cluster)
    accounts = await createChartAccounts(cluster, namespace.name())
    const { kubeconfigs } = accounts
    const release = { name: 'matte', unlabelledPools: true }
    const origin = { release, poolsConfigMap: 'matte-pools' }
    operator = await startOperator({ db: database.db, namespace: namespace.name(), kubeconfigs, ...origin })
  })
  afterAll(async () => {
    await operator?.stop()
    await accounts?.end()
  })

  it('can be created, restored, scaled, annotated, rolled out, reported and deleted', async () => {
    const scaling = { owner: 'external' } as const
    const rollout = { steps: [], gate: { minRequests: 0 } }
    await pools.apply('lives', { replicas: 2, scaling, rollout })
    const first = await pools.until('lives', 'has two pods', ({ readyReplicas }) => readyReplicas === 2)
    await until('the worker routes to both', () => operator.routes('lives').length === 2)
    await namespace.kube().mergePatch(tritonPools, 'lives', { spec: { replicas: 1 } })
    await pools.until('lives', 'has one', ({ replicas, drainingReplicas }) => replicas === 1 && drainingReplicas === 0)
    await pools.apply('lives', {
      replicas: 1,
      scaling,
      rollout,
      podPatch: { metadata: { annotations: { note: 'new' } } },
    })
    const second = await pools.until(
      'lives',
      'has gone over',
      (now) => now.rollout?.stable !== first.status?.rollout?.stable,
    )
    await until('the old Deployment is gone', async () => {
      const names = (await pools.deployments('lives')).map(({ metadata }) => metadata.name)
      return names.join() === `lives-${second.status?.rollout?.stable}`
    })
    await pools.until('lives', 'is idle', (now) => reasonOf(now, 'Ready') === 'Available')
    expect(await refusalsIn(operator.registry)).toEqual([])
    expect(await refusalsIn(operator.workerRegistry)).toEqual([])
  })

  it('can be applied from the values, restored and deleted', async () => {
    const kube = namespace.kube()
    const text = JSON.stringify({ models: [modelOf('values')], scaling: { owner: 'external' }, replicas: 0 })
    const uidOf = async () => (await kube.get(tritonPools, 'values'))?.metadata.uid
    await kube.apply(configMaps, withCount(buildConfigMap('matte-pools', { values: text })))
    const first = await until('the pool is there', uidOf)
    await kube.delete(tritonPools, 'values')
    await until('it is there again', async () => ![first, undefined].includes(await uidOf()))
    await kube.apply(configMaps, withCount(buildConfigMap('matte-pools', {})))
    await until('it is gone', async () => (await uidOf()) === undefined)
    expect(await refusalsIn(operator.registry)).toEqual([])
  })
})

async function refusalsIn(registry: TestOperator['registry']): Promise<unknown[]> {
  const counter = await registry.getSingleMetric('matte_kube_requests_total')?.get()
  const codes = ['401', '403', 401, 403]
  return counter?.values.filter(({ labels }) => codes.includes((labels as { code: string }).code)) ?? []
}
