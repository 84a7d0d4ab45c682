// A compromised operator: requests that its service account may still make.
import {
  deployments,
  type KubeClient,
  leases,
  podDisruptionBudgets,
  pods,
  type Resource,
  services,
} from '@matte/controller/operator/kube/client'
import type { Deployment, KubeObject } from '@matte/controller/operator/kube/objects'
import { type TritonPool, tritonPools, withDefaults } from '@matte/controller/operator/pool/triton-pool'
import {
  listedAccount,
  listedPriorityClass,
  refusedByBoth,
  refusedByController,
  taken,
} from '@matte/controller/operator/specs/bad-patches.fixtures'
import { buildDisruptionBudget } from '@matte/controller/operator/specs/disruption-budget'
import { buildTritonDeployment, targetRevision } from '@matte/controller/operator/specs/triton-deployment'
import { buildTritonService } from '@matte/controller/operator/specs/triton-service'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findMissing } from '../chart/helm.ts'
import { type ChartAccounts, createChartAccounts, openAccounts, refusalOf } from '../support/chart-accounts.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)
const secrets: Resource<KubeObject> = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret' }
const events: Resource<KubeObject> = { group: '', version: 'v1', plural: 'events', kind: 'Event' }

const spec = {
  image: 'example/triton:1',
  models: [{ name: 'u2netp', modelVersion: 'u2netp', source: { imagePath: '/models' } }],
}
/** Change to a Deployment that the operator would create. */
type Change = (deployment: Deployment) => object

describe.skipIf(!cluster || findMissing('helm'))('a compromised operator', () => {
  const namespace = useNamespace(cluster)
  let operator: KubeClient
  let accounts: ChartAccounts | undefined
  let pool: TritonPool
  /** A Deployment in the namespace that no pool owns. */
  const foreign = 'matte-api'

  beforeAll(async () => {
    if (cluster === undefined) return
    await installPoolDefinition(cluster)
    const secretName = 'triton.pools.demo.models[0].source.s3.secretName=bucket'
    const accountName = `operator.podServiceAccounts={${listedAccount}}`
    const className = `operator.podPriorityClasses={${listedPriorityClass}}`
    const values = [secretName, accountName, className].flatMap((value) => ['--set', value])
    accounts = await createChartAccounts(cluster, namespace.name(), values)
    operator = (await openAccounts(namespace, accounts)).operator
    const kube = namespace.kube()
    pool = await kube.create(tritonPools, {
      apiVersion: 'matte.dev/v1alpha1',
      kind: 'TritonPool',
      metadata: { name: 'own' },
      spec: spec as unknown as TritonPool['spec'],
    })
    await kube.create(deployments, { ...foreignDeployment(), metadata: { name: foreign, labels: { app: foreign } } })
    // The API server reads a new policy within seconds.
    await until('the policy is in force', async () =>
      (await refusalOf(() => operator.create(deployments, unlabelled()))).includes('ValidatingAdmissionPolicy'),
    )
  })
  afterAll(() => accounts?.end())

  /** A Deployment as the operator builds it, with an unused name. */
  const own = (): Deployment => buildTritonDeployment(pool)
  /** A probe before the policy is in force is accepted, so it has a unique name. */
  const unlabelled = (): Deployment => ({ ...own(), metadata: { ...own().metadata, name: 'probe', labels: {} } })
  function foreignDeployment(): Deployment {
    const labels = { app: foreign }
    const { template } = own().spec
    return {
      ...own(),
      metadata: { name: foreign },
      spec: { replicas: 0, selector: { matchLabels: labels }, template: { ...template, metadata: { labels } } },
    } as Deployment
  }

  it('can create the objects of a pool', async () => {
    const revision = targetRevision(pool)
    const objects = [
      [deployments, own()],
      [services, buildTritonService(pool, revision)],
      [podDisruptionBudgets, buildDisruptionBudget(pool)],
    ] as unknown as [Resource<KubeObject>, KubeObject][]
    for (const [resource, object] of objects) {
      await operator.apply(resource, object)
      const { name } = object.metadata
      await operator.mergePatch(resource, name, { metadata: { annotations: { 'matte.dev/leader-term': '1/a' } } })
    }
    const { name } = own().metadata
    await operator.mergePatch(deployments, name, { spec: { replicas: 0 } }, { subresource: 'scale' })
    await operator.delete(deployments, name)
  })

  const template =
    (change: (spec: Record<string, unknown>) => object): Change =>
    (deployment) => {
      const { template: before } = deployment.spec
      const podSpec = before.spec as unknown as Record<string, unknown>
      return {
        ...deployment,
        spec: { ...deployment.spec, template: { ...before, spec: { ...podSpec, ...change(podSpec) } } },
      }
    }
  it.each<[string, Change]>([
    ['without its labels', (deployment) => ({ ...deployment, metadata: { ...deployment.metadata, labels: {} } })],
    ['of no pool', (deployment) => ({ ...deployment, metadata: { ...deployment.metadata, ownerReferences: [] } })],
    [
      'with pods that match the chart’s own selectors',
      (deployment) => {
        const { template: before } = deployment.spec
        const labels = { ...before.metadata?.labels, 'app.kubernetes.io/name': 'matte' }
        return { ...deployment, spec: { ...deployment.spec, template: { ...before, metadata: { labels } } } }
      },
    ],
    [
      'with pods that the policies of another release allow',
      (deployment) => {
        const { template: before } = deployment.spec
        const labels = { ...before.metadata?.labels, 'matte.dev/release': 'other' }
        return { ...deployment, spec: { ...deployment.spec, template: { ...before, metadata: { labels } } } }
      },
    ],
    [
      'with the disk of PostgreSQL',
      template(() => ({ volumes: [claimOf('data-matte-postgresql-0')], containers: bare })),
    ],
    [
      'with the disk of the object store',
      template(() => ({ volumes: [claimOf('data-matte-object-store-0')], containers: bare })),
    ],
  ])('cannot create a Deployment %s', async (_what, change) => {
    const refusal = await refusalOf(() => operator.create(deployments, change(own()) as Deployment))
    expect(refusal).toMatch(/^403 .*ValidatingAdmissionPolicy/)
  })

  /** The API server drops these: unknown fields, and a template without a spec. */
  const unseen = [
    'a field that this version does not know',
    'an ephemeral container',
    'a finalizer',
    'no pod',
    'no AppArmor, by an annotation',
  ]
  const bad = [...refusedByBoth, ...refusedByController].filter(([what]) => !unseen.includes(what))
  it.each(bad)('cannot create pods with %s, whatever a pool says', async (_what, podPatch) => {
    const refusal = await refusalOf(() => operator.create(deployments, deploymentWith(podPatch)))
    expect(refusal).toMatch(/^(403 .*ValidatingAdmissionPolicy|422 )/)
  })

  /** Invalid for the API server without further fields. */
  const incomplete = ['volumes']
  it.each(taken.filter(([what]) => !incomplete.includes(what)))('creates pods with %s', async (_what, podPatch) => {
    const deployment = deploymentWith(podPatch)
    await operator.create(deployments, { ...deployment, spec: { ...deployment.spec, replicas: 0 } })
    await operator.delete(deployments, deployment.metadata.name)
  })

  it('can use only the Secrets of models that the values name', async () => {
    const env = (name: string) => ({
      spec: {
        containers: [
          { name: 'triton', image: 'x', env: [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'k' } } }] },
        ],
      },
    })
    expect(await refusalOf(() => operator.create(deployments, deploymentWith(env('bucket'))))).toBe('')
    for (const name of ['matte-secrets', 'other']) {
      const refusal = await refusalOf(() => operator.create(deployments, deploymentWith(env(name))))
      expect(refusal).toContain('operator.admissionPolicy.modelSecrets')
    }
  })

  const ownLabels = { 'app.kubernetes.io/managed-by': 'matte-controller', 'matte.dev/pool': 'own' }
  it.each<[string, (operator: KubeClient) => Promise<unknown>]>([
    [
      'change a foreign Deployment',
      (operator) => operator.mergePatch(deployments, foreign, { spec: { paused: true } }),
    ],
    [
      'take over a foreign Deployment',
      (operator) => operator.mergePatch(deployments, foreign, { metadata: { labels: ownLabels } }),
    ],
    ['delete a foreign Deployment', (operator) => operator.delete(deployments, foreign)],
    [
      'scale a foreign Deployment',
      (operator) => operator.mergePatch(deployments, foreign, { spec: { replicas: 3 } }, { subresource: 'scale' }),
    ],
    [
      'change a foreign pod',
      (operator) => operator.mergePatch(pods, 'stranger', { metadata: { annotations: { a: 'b' } } }),
    ],
    ['relabel pods of a pool', (operator) => operator.mergePatch(pods, 'mine', { metadata: { labels: { app: 'x' } } })],
    [
      'end pods of a pool early',
      (operator) => operator.mergePatch(pods, 'mine', { spec: { activeDeadlineSeconds: 1 } }),
    ],
    [
      'expose a Service outside the cluster',
      (operator) => operator.create(services, serviceWith({ type: 'NodePort', clusterIP: undefined })),
    ],
    [
      'select foreign pods by a Service',
      (operator) => operator.create(services, serviceWith({ selector: { app: 'matte-api' } })),
    ],
    ['create another Lease', (operator) => operator.create(leases, leaseOf('other'))],
    ['emit Events about foreign objects', (operator) => operator.create(events, eventOf())],
  ])('cannot %s', async (_what, request) => {
    const kube = namespace.kube()
    for (const name of ['stranger', 'mine']) {
      const labels: Record<string, string> = name === 'mine' ? ownLabels : {}
      await refusalOf(() => kube.create(pods, podOf(name, labels)))
    }
    expect(await refusalOf(() => request(operator))).toMatch(/^403 .*ValidatingAdmissionPolicy/)
  })

  it.each<[string, (operator: KubeClient) => Promise<unknown>]>([
    ['read a Secret', (operator) => operator.get(secrets, 'matte-secrets')],
    ['create a pod', (operator) => operator.create(pods, podOf('new', ownLabels))],
  ])('has no right to %s', async (_what, request) => {
    expect(await refusalOf(() => request(operator))).toMatch(/^403 /)
  })

  const fromValues = { 'matte.dev/from': 'matte-pools', 'matte.dev/release': 'matte' }
  const poolOf = (name: string, labels: Readonly<Record<string, string>>): TritonPool => ({
    ...pool,
    metadata: { name, labels },
  })

  it('can write the pools of the values', async () => {
    await operator.apply(tritonPools, poolOf('values', fromValues))
    await operator.mergePatch(tritonPools, 'values', { metadata: { ownerReferences: [] } })
    const status = { leaderTerm: 1 }
    for (const name of ['values', 'own'])
      await operator.mergePatch(tritonPools, name, { status }, { subresource: 'status' })
    await operator.delete(tritonPools, 'values')
  })

  it.each<[string, (operator: KubeClient) => Promise<unknown>]>([
    ["change a user's pool", (one) => one.mergePatch(tritonPools, 'own', { spec: { image: 'example/other:1' } })],
    ["delete a user's pool", (one) => one.delete(tritonPools, 'own')],
    ["make a user's pool its own", (one) => one.mergePatch(tritonPools, 'own', { metadata: { labels: fromValues } })],
    ['create a pool that is not from the values', (one) => one.create(tritonPools, poolOf('more', {}))],
    [
      'create a pool of another release',
      (one) => one.create(tritonPools, poolOf('more', { ...fromValues, 'matte.dev/release': 'other' })),
    ],
    ['change a pool of another release', (one) => one.mergePatch(tritonPools, 'other', { spec: { slotsPerPod: 2 } })],
    ['delete a pool of another release', (one) => one.delete(tritonPools, 'other')],
    [
      'write the status of a pool of another release',
      (one) => one.mergePatch(tritonPools, 'other', { status: { leaderTerm: 9 } }, { subresource: 'status' }),
    ],
  ])('cannot %s', async (_what, request) => {
    await refusalOf(() => namespace.kube().create(tritonPools, poolOf('other', { 'matte.dev/release': 'other' })))
    expect(await refusalOf(() => request(operator))).toMatch(/^403 .*ValidatingAdmissionPolicy/)
  })

  function serviceWith(more: object) {
    const service = buildTritonService(pool, 'other')
    return { ...service, spec: { ...service.spec, ...more } } as typeof service
  }
  function deploymentWith(podPatch: object): Deployment {
    const changed = withDefaults({ ...spec, podPatch } as Parameters<typeof withDefaults>[0])
    return buildTritonDeployment({ ...pool, spec: changed })
  }
  function eventOf(): KubeObject {
    const involvedObject = { apiVersion: 'apps/v1', kind: 'Deployment', name: foreign, namespace: namespace.name() }
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e' },
      involvedObject,
      reason: 'A',
      message: 'b',
      type: 'Normal',
    } as KubeObject
  }

  const leaseOf = (name: string) =>
    ({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name }, spec: {} }) as never
  const podOf = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels },
      spec: { nodeSelector: { none: 'such' }, containers: [{ name: 'main', image: 'x:1' }] },
    }) as never
})

const claimOf = (claimName: string) => ({ name: 'data', persistentVolumeClaim: { claimName } })
const bare = [
  {
    name: 'triton',
    image: 'x',
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    volumeMounts: [{ name: 'data', mountPath: '/data' }],
  },
]
