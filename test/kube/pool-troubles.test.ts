import { createHash } from 'node:crypto'
import { type Resource, services } from '@matte/controller/operator/kube/client'
import type { KubeObject } from '@matte/controller/operator/kube/objects'
import type { PoolStatus } from '@matte/controller/operator/pool/pool-status'
import { listedAccount } from '@matte/controller/operator/specs/bad-patches.fixtures'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { modelOf, poolClient, reasonOf, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)
const quotas: Resource<KubeObject> = { group: '', version: 'v1', plural: 'resourcequotas', kind: 'ResourceQuota' }
const serviceAccounts: Resource<KubeObject> = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
}

/** Content of `model.onnx` in the image of the fake. */
const fakeModel = 'fake'

describe.skipIf(!cluster)('a pool in trouble', () => {
  const database = useDatabase()
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let operator: TestOperator
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
    const podServiceAccounts = [listedAccount]
    operator = await startOperator({ db: database.db, namespace: namespace.name(), podServiceAccounts })
  })
  afterAll(() => operator?.stop())

  const messageOf = ({ conditions }: Partial<PoolStatus>, type: string): string =>
    conditions?.find((condition) => condition.type === type)?.message ?? ''
  const degraded = (name: string, reason: string) =>
    pools.until(name, `is degraded by ${reason}`, (now) => reasonOf(now, 'Degraded') === reason)

  it('reports that its image cannot be pulled', async () => {
    await pools.apply('imageless', { image: 'matte/there-is-none:1' })
    const { status } = await degraded('imageless', 'ImagePullFailed')
    expect(reasonOf(status ?? {}, 'Ready', 'False')).toBe('ImagePullFailed')
    expect(messageOf(status ?? {}, 'Ready')).toContain('matte/there-is-none:1')
  })

  it('reports that no node has room', async () => {
    await pools.apply('huge', { resources: { requests: { cpu: '4000' } } })
    const { status } = await degraded('huge', 'PodUnschedulable')
    expect(messageOf(status ?? {}, 'Ready')).toMatch(/insufficient cpu/i)
  })

  it('reports a missing claim', async () => {
    const source = { persistentVolumeClaim: { claimName: 'none-such', path: '' } }
    await pools.apply('claimless', { models: [{ ...modelOf('claimless'), source }] })
    const { status } = await degraded('claimless', 'SourceMissing')
    expect(status?.models).toMatchObject([{ transition: 'InvalidSpec', lastFailure: { reason: 'SourceMissing' } }])
  })

  it('reports a missing Secret', async () => {
    const source = { s3: { prefix: 's3://models/all', secretName: 'none-such' } }
    await pools.apply('secretless', { models: [{ ...modelOf('secretless'), source }] })
    const { status } = await degraded('secretless', 'SourceMissing')
    expect(messageOf(status ?? {}, 'Ready')).toContain('none-such')
  })

  it('reports that its model does not load, without a crash loop', async () => {
    await pools.apply('absent', { models: [{ ...modelOf('absent'), name: 'absent' }] })
    const { status } = await degraded('absent', 'ModelLoadFailed')
    expect(status?.models).toMatchObject([{ transition: 'BlockedByFailedLoad' }])
    const [pod] = await pools.pods('absent')
    expect(pod?.status?.phase).toBe('Running')
    expect(pod?.status?.containerStatuses?.[0]?.restartCount).toBe(0)
  })

  it('reports a wrong checksum, does not start Triton with it, and serves once it is right', async () => {
    const checksumOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`
    const wrong = checksumOf('another model')
    await pools.apply('forged', { models: [{ ...modelOf('forged'), checksum: wrong }] })
    const { status } = await degraded('forged', 'ChecksumMismatch')
    expect(messageOf(status ?? {}, 'Degraded')).toContain(checksumOf(fakeModel))
    expect(status?.models).toMatchObject([
      { transition: 'BlockedByFailedLoad', lastFailure: { reason: 'ChecksumMismatch' } },
    ])
    expect(status?.models?.[0]?.lastFailure?.message).toContain(wrong)
    const [pod] = await pools.pods('forged')
    expect(pod?.status?.containerStatuses?.[0]).toMatchObject({ restartCount: 0, ready: false })
    expect(pod?.status?.containerStatuses?.[0]?.state?.running).toBeUndefined()
    // It waits before it compares again, so it seldom restarts.
    await until('it waits', async () => {
      const [now] = await pools.pods('forged')
      return now?.status?.initContainerStatuses?.[0]?.state?.running
    })
    expect(reasonOf((await pools.get('forged')).status ?? {}, 'Degraded')).toBe('ChecksumMismatch')
    await pools.apply('forged', { models: [{ ...modelOf('forged'), checksum: checksumOf(fakeModel) }] })
    const { status: mended } = await pools.until('forged', 'serves', (now) => reasonOf(now, 'Ready') === 'Available')
    expect(mended?.models?.[0]).not.toHaveProperty('lastFailure')
  })

  it('reports a forbidden podPatch, and creates no pods until it is corrected', async () => {
    // The definition does not declare this field, so only the operator refuses it (A60).
    const podPatch = { spec: { volumes: [{ name: 'tmp', nfs: { server: 'files.example', path: '/' } }] } }
    await pools.apply('greedy', { podPatch })
    const { status } = await degraded('greedy', 'PodPatchRefused')
    expect(messageOf(status ?? {}, 'Degraded')).toMatch(/spec\.volumes\[0\]\.nfs.*POD_PATCH=any/)
    expect(await pools.deployments('greedy')).toEqual([])
    await pools.apply('greedy', { podPatch: {} })
    await until('there is a Deployment', async () => (await pools.deployments('greedy')).length === 1)
  })

  it('reports that its service account has left the list, and keeps the pods that use it', async () => {
    await namespace.kube().create(serviceAccounts, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: listedAccount },
    })
    const podPatch = { spec: { serviceAccountName: listedAccount } }
    await pools.apply('named', { models: [modelOf('named')], podPatch })
    await pools.until('named', 'serves', (now) => reasonOf(now, 'Ready') === 'Available')
    const [before] = await pools.pods('named')
    expect(before?.spec).toMatchObject({ serviceAccountName: listedAccount, automountServiceAccountToken: false })
    expect(JSON.stringify(before?.spec)).not.toContain('serviceAccountToken"')

    await operator.stop()
    operator = await startOperator({ db: database.db, namespace: namespace.name() })
    await pools.apply('named', { podPatch: { ...podPatch, metadata: { annotations: { note: 'new' } } } })
    const { status } = await degraded('named', 'PodPatchRefused')
    expect(messageOf(status ?? {}, 'Degraded')).toMatch(/"models-reader".*add it to operator\.podServiceAccounts/)
    expect(reasonOf(status ?? {}, 'Ready')).toBe('PodPatchRefused')
    expect((await pools.pods('named')).map(({ metadata }) => metadata.uid)).toEqual([before?.metadata.uid])
  })

  it('reports that Triton keeps exiting', async () => {
    const podPatch = {
      spec: { containers: [{ name: 'triton', image: 'localhost/matte/fake-triton:e2e', command: ['false'] }] },
    }
    await pools.apply('crashing', { podPatch })
    await degraded('crashing', 'PodCrashing')
  })

  it('reports which of two pools is the default, and which serves a model', async () => {
    const model = modelOf('twice')
    await pools.apply('elder', { models: [model], default: true, scaling: { minReplicas: 0 } })
    await pools.until('elder', 'is observed', (now) => reasonOf(now, 'Degraded', 'False'))
    await pools.apply('younger', { models: [model], default: true, scaling: { minReplicas: 0 } })
    const { status } = await degraded('younger', 'DefaultConflict')
    expect(messageOf(status ?? {}, 'Degraded')).toContain('elder')
    expect(messageOf(status ?? {}, 'Degraded')).toContain('twice')
  })

  it('reports an invalid schedule', async () => {
    const schedules = [{ name: 'day', timeZone: 'Nowhere/Else', start: '0 8 * * *', end: '0 20 * * *', minReplicas: 1 }]
    await pools.apply('untimely', { scaling: { minReplicas: 0, schedules } })
    await degraded('untimely', 'ScheduleInvalid')
  })

  it('reports a Service that cannot be updated, continues, and recreates it after its deletion', async () => {
    await pools.apply('addressed')
    const pool = await pools.until('addressed', 'serves', (now) => reasonOf(now, 'Ready') === 'Available')
    const kube = namespace.kube()
    const serviceName = `addressed-${pool.status?.rollout?.stable}`
    await operator.stop()
    const own = await kube.get(services, serviceName)
    if (own === undefined) throw new Error('there is no Service')
    await kube.delete(services, serviceName)
    const { labels = {}, ownerReferences = [] } = own.metadata
    const { clusterIP: _, ...spec } = own.spec
    await kube.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: serviceName, labels, ownerReferences },
      spec: { ports: spec.ports ?? [], selector: spec.selector ?? {} },
    })
    operator = await startOperator({ db: database.db, namespace: namespace.name() })
    const { status } = await degraded('addressed', 'ChangeRefused')
    expect(messageOf(status ?? {}, 'Degraded')).toMatch(
      new RegExp(`^Kubernetes refuses to update Service ${serviceName}: .*clusterIP`, 'i'),
    )
    await pools.apply('addressed', { scaling: { minReplicas: 2 } })
    const { status: grown } = await pools.until('addressed', 'has grown', ({ readyReplicas }) => readyReplicas === 2)
    expect(reasonOf(grown ?? {}, 'Ready')).toBe('ChangeRefused')
    await kube.delete(services, serviceName)
    await pools.until('addressed', 'is right again', (now) => reasonOf(now, 'Ready') === 'Available')
    expect((await kube.get(services, serviceName))?.spec.clusterIP).toBe('None')
  })

  const refuse = (what: string) =>
    namespace.kube().create(quotas, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'few' },
      spec: { hard: { [what]: '0' } },
    } as KubeObject)

  it.each([
    ['pods', 'pods', 'created 0 of 1 pods'],
    ['Deployments', 'count/deployments.apps', 'exceeded quota'],
    ['Services', 'count/services', 'exceeded quota'],
  ])('reports a refusal by a quota of %s, and serves once it is removed', async (_what, resource, message) => {
    const name = `refused-${resource.replaceAll(/[^a-z]/g, '-')}`
    await refuse(resource)
    await pools.apply(name)
    const { status } = await degraded(name, 'QuotaRefused')
    expect(messageOf(status ?? {}, 'Degraded')).toContain(message)
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('False')
    await namespace.kube().delete(quotas, 'few')
    await pools.until(name, 'serves when there is room', (now) => reasonOf(now, 'Ready') === 'Available')
  })

  it('serves without the budget that it may not create, and reports it', async () => {
    await refuse('count/poddisruptionbudgets.policy')
    await pools.apply('unbudgeted')
    const { status } = await pools.until(
      'unbudgeted',
      'serves and says so',
      (now) => [reasonOf(now, 'Degraded'), now.readyReplicas].join() === 'QuotaRefused,1',
    )
    expect(messageOf(status ?? {}, 'Degraded')).toMatch(
      /^Kubernetes refuses to create PodDisruptionBudget .*exceeded quota/,
    )
    expect(status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True')
    await namespace.kube().delete(quotas, 'few')
    await pools.until('unbudgeted', 'has its budget', (now) => reasonOf(now, 'Degraded') !== 'QuotaRefused')
  })
})
