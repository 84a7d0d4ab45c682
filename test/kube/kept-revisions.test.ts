// An operator upgrade replaces no pod: a revision of the previous builder is kept until its owner asks for a rebuild or
// spec changes. Concurrent rollouts are limited.

import type { KubeClient } from '@matte/controller/operator/kube/client'
import { deployments, events } from '@matte/controller/operator/kube/client'
import { revisionLabels, revisionName, revisionSelector } from '@matte/controller/operator/pool/labels'
import { type PoolSpecInput, type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { revisionOf } from '@matte/controller/operator/specs/json'
import { buildPodTemplate } from '@matte/controller/operator/specs/pod-template'
import { buildTritonDeployment, targetRevision } from '@matte/controller/operator/specs/triton-deployment'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { poolClient, reasonOf, startOperator, type TestOperator } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)

const gate = { minRequests: 0, readySeconds: 60 }
const quick = { rollout: { steps: [{ weight: 50, durationSeconds: 0 }], gate } }
/** Stays in its first step. */
const patient = { rollout: { steps: [{ weight: 50, durationSeconds: 3_600 }], gate } }
const changed = (note: string): Partial<PoolSpecInput> => ({ podPatch: { metadata: { annotations: { note } } } })

/**
 * The Deployment of an operator from before builder versions: it has no record, and its template differs from
 * today's.
 */
async function createFormerDeployment(kube: KubeClient, pool: TritonPool): Promise<string> {
  const { name } = pool.metadata
  const { metadata, spec } = buildPodTemplate(pool)
  const { 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes': _, ...annotations } =
    metadata.annotations as Record<string, string>
  const template = { metadata: { ...metadata, annotations }, spec }
  const revision = revisionOf(template)
  const labels = revisionLabels(name, revision)
  const built = buildTritonDeployment(pool)
  const { 'matte.dev/models': models = '' } = built.metadata.annotations ?? {}
  await kube.create(deployments, {
    ...built,
    metadata: {
      ...built.metadata,
      name: revisionName(name, revision),
      labels,
      annotations: { 'matte.dev/models': models },
    },
    spec: {
      ...built.spec,
      replicas: 1,
      selector: { matchLabels: revisionSelector(name, revision) },
      template: { ...template, metadata: { ...template.metadata, labels: { ...metadata.labels, ...labels } } },
    },
  })
  return revision
}

describe.skipIf(!cluster)('a pool under another operator', () => {
  const database = useDatabase()
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let operator: TestOperator | undefined
  const start = async (concurrentRollouts = 2): Promise<void> => {
    await operator?.stop()
    operator = await startOperator({ db: database.db, namespace: namespace.name(), concurrentRollouts })
  }
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
  })
  afterAll(() => operator?.stop())

  const annotate = (name: string, annotations: Readonly<Record<string, string | null>>) =>
    namespace.kube().mergePatch(tritonPools, name, { metadata: { annotations } })
  const uidsOf = async (name: string): Promise<string[]> =>
    (await pools.pods(name)).map(({ metadata }) => metadata.uid ?? '').sort()
  const settled = (name: string) =>
    pools.until(
      name,
      'is settled',
      (now) => reasonOf(now, 'Ready') === 'Available' && reasonOf(now, 'Progressing', 'False') === 'Settled',
    )

  it('keeps the pods of the previous builder, and records their inputs', async () => {
    const pool = await pools.apply('kept', quick)
    const revision = await createFormerDeployment(namespace.kube(), pool)
    expect(revision).not.toBe(targetRevision(pool))
    const status = {
      observedGeneration: pool.metadata.generation,
      desiredReplicas: 1,
      rollout: { stable: revision, weight: 0, step: -1, since: '2026-11-23T12:00:00Z' },
    }
    await namespace.kube().mergePatch(tritonPools, 'kept', { status }, { subresource: 'status' })
    const before = await until('its pod is ready', async () => {
      const [pod] = await pools.pods('kept')
      const isReady = pod?.status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
      return isReady && (await uidsOf('kept'))
    })
    await start()
    const { status: after } = await settled('kept')
    expect(after?.rollout?.stable).toBe(revision)
    expect(after?.revisions).toMatchObject([{ revision, builder: 1 }])
    expect(after?.newestBuilder).toBeGreaterThan(1)
    await until('its Deployment says what it was built from', async () => {
      const [deployment, ...others] = await pools.deployments('kept')
      return others.length === 0 && deployment?.metadata.annotations?.['matte.dev/built']?.includes('"builder":1')
    })
    expect(await uidsOf('kept')).toEqual(before)
    // The status is lost: the annotation of the Deployment remains.
    await operator?.stop()
    const none = { observedGeneration: null, revisions: null, rollout: null, conditions: null }
    await namespace.kube().mergePatch(tritonPools, 'kept', { status: none }, { subresource: 'status' })
    await start()
    await settled('kept')
    expect(await uidsOf('kept')).toEqual(before)
  })

  it('is rebuilt by today’s builder when its owner asks', async () => {
    const before = await uidsOf('kept')
    await annotate('kept', { 'matte.dev/rebuild': '2026-11-23T12:00:00Z' })
    const { status, ...pool } = await pools.until(
      'kept',
      'is rebuilt',
      ({ revisions, newestBuilder, rollout }) =>
        rollout?.canary === undefined && revisions?.[0]?.builder === newestBuilder,
    )
    expect(status?.rollout?.stable).toBe(targetRevision(pool))
    await until('only new pods are left', async () => {
      const now = await uidsOf('kept')
      return now.length === 1 && !now.some((uid) => before.includes(uid))
    })
    const after = await uidsOf('kept')
    await annotate('kept', { 'matte.dev/rebuild': '2026-11-24T12:00:00Z' })
    await pools.until('kept', 'records it', ({ revisions }) => revisions?.[0]?.rebuild === '2026-11-24T12:00:00Z')
    expect(await uidsOf('kept')).toEqual(after)
  })

  it('waits while the limit of rollouts is reached, and reports it', async () => {
    const names = ['one', 'two', 'three']
    for (const name of names) await pools.apply(name, patient)
    for (const name of names) await settled(name)
    for (const name of names) await pools.apply(name, { ...patient, ...changed('new') })
    const rolling = async (): Promise<string[]> => {
      const found = await Promise.all(names.map((name) => pools.get(name)))
      return found.filter(({ status }) => status?.rollout?.canary).map(({ metadata }) => metadata.name)
    }
    await until('two roll out', async () => (await rolling()).length === 2)
    const [first = ''] = await rolling()
    const queued = await until('one waits', async () => {
      const found = await Promise.all(names.map((name) => pools.get(name)))
      return found.find(({ status }) => reasonOf(status ?? {}, 'Progressing') === 'RolloutQueued')
    })
    expect(await rolling()).not.toContain(queued.metadata.name)
    // A paused rollout gives up its turn.
    await annotate(first, { 'matte.dev/pause': 'true' })
    await pools.until(queued.metadata.name, 'has its turn', ({ rollout }) => rollout?.canary)
    const paused = await pools.until(
      first,
      'is paused',
      (now) => reasonOf(now, 'Progressing', 'Unknown') === 'RolloutPaused',
    )
    expect(paused.status?.rollout?.pausedSince).toBeDefined()
    // A promotion overrides a pause.
    const canary = paused.status?.rollout?.canary ?? ''
    await annotate(first, { 'matte.dev/promote': canary })
    await pools.until(first, 'has gone over', ({ rollout }) => rollout?.stable === canary && !rollout.canary)
  })

  it('reports an invalid annotation, and continues', async () => {
    await pools.apply('odd', quick)
    await settled('odd')
    await annotate('odd', { 'matte.dev/pause': 'yes' })
    await pools.until('odd', 'says so', (now) => reasonOf(now, 'Degraded') === 'AnnotationIgnored')
    await until('an Event reports it', async () => {
      const { items } = await namespace.kube().list(events)
      return items.some(({ reason, involvedObject }) => involvedObject.name === 'odd' && reason === 'AnnotationIgnored')
    })
    await annotate('odd', { 'matte.dev/pause': null })
    await settled('odd')
  })
})
