// The life of a pool under a service account that may do what docs/operator.md says, and nothing else.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Resource } from '@matte/controller/operator/kube/client'
import { createTransport } from '@matte/controller/operator/kube/http/transport'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import { tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { rootDir } from '@matte/local/paths'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { poolClient, reasonOf, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)
const account = 'operator'
const serviceAccounts: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
}
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
const roles: Resource<KubeObject> = { ...rbac, plural: 'roles', kind: 'Role' }
const roleBindings: Resource<KubeObject> = { ...rbac, plural: 'rolebindings', kind: 'RoleBinding' }

/** The rules of the table in docs/operator.md, row by row. */
function readRights() {
  const page = readFileSync(join(rootDir, 'docs/operator.md'), 'utf8')
  const [, table = ''] = page.split('<!-- rights: ')
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
  return rows.map((row) => {
    const [, group = '', resource = '', verbs = ''] = row.split('|').map((cell) => cell.trim())
    return { apiGroups: [group], resources: [resource], verbs: verbs.split(', ') }
  })
}

describe('the permissions', () => {
  it('are in alphabetical order, without wildcards', () => {
    const rights = readRights()
    expect(rights.length).toBeGreaterThan(5)
    const names = rights.map(({ apiGroups: [group], resources: [resource] }) => `${group}/${resource}`)
    expect(names).toEqual(names.toSorted())
    for (const { verbs } of rights) expect(verbs).toEqual(verbs.toSorted())
    expect(JSON.stringify(rights)).not.toContain('*')
  })
})

describe.skipIf(!cluster)('a pool under these permissions alone', () => {
  const database = useDatabase()
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  const before = process.env.KUBECONFIG
  let dir: string
  let operator: TestOperator

  beforeAll(async () => {
    if (cluster === undefined) return
    await installPoolDefinition(cluster)
    const metadata = { name: account, namespace: namespace.name() }
    const kube = namespace.kube()
    await kube.create(serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata })
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    await kube.create(roles, { apiVersion, kind: 'Role', metadata, rules: readRights() } as KubeObject)
    await kube.create(roleBindings, {
      apiVersion,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac.group, kind: 'Role', name: account },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    } as KubeObject)
    dir = mkdtempSync(join(tmpdir(), 'matte-rights-'))
    writeFileSync(join(dir, 'config'), JSON.stringify(await kubeconfigOf(cluster, namespace.name())))
    // The controller reads it as it would in production; each test file is a process of its own.
    process.env.KUBECONFIG = join(dir, 'config')
    operator = await startOperator({ db: database.db, namespace: namespace.name() })
  })
  afterAll(async () => {
    await operator?.stop()
    if (before === undefined) delete process.env.KUBECONFIG
    else process.env.KUBECONFIG = before
    if (dir) rmSync(dir, { recursive: true, force: true })
  })

  it('can be created, restored, scaled, annotated, rolled out, reported and deleted', async () => {
    const scaling = { owner: 'external' } as const
    const rollout = { steps: [], gate: { minRequests: 0 } }
    await pools.apply('lives', { replicas: 2, scaling, rollout })
    const first = await pools.until('lives', 'has two pods', ({ readyReplicas }) => readyReplicas === 2)
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
    const counter = await operator.registry.getSingleMetric('matte_kube_requests_total')?.get()
    const refused = counter?.values.filter(({ labels }) =>
      ['401', '403', 401, 403].includes((labels as { code: string }).code),
    )
    expect(refused).toEqual([])
  })
})

/** A kubeconfig of the service account, with a token of an hour. */
async function kubeconfigOf({ config }: NonNullable<typeof cluster>, namespace: string): Promise<object> {
  const transport = createTransport(config)
  const { body, status } = await transport.send({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3_600 } },
    contentType: 'application/json',
    timeoutMs: 10_000,
  })
  transport.close()
  if (status >= 300) throw new Error(`no token: ${body}`)
  const { token } = (JSON.parse(String(body)) as { status: { token: string } }).status
  const { server, caData, caFile, skipTLSVerify } = config.getCurrentCluster() ?? {}
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': account,
    contexts: [{ name: account, context: { cluster: account, user: account, namespace } }],
    clusters: [
      {
        name: account,
        cluster: {
          server,
          'certificate-authority-data': caData,
          'certificate-authority': caFile,
          'insecure-skip-tls-verify': skipTLSVerify,
        },
      },
    ],
    users: [{ name: account, user: { token } }],
  }
}
