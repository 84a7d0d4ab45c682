import { deployments, type KubeError } from '@matte/controller/kube/client'
import type { Deployment } from '@matte/controller/kube/objects'
import { putUpFence } from '@matte/controller/leader-fence'
import { type TritonPool, tritonPools } from '@matte/controller/pool/triton-pool'
import { type ApplyDeps, apply } from '@matte/controller/scale/apply'
import type { Observed } from '@matte/controller/scale/gather'
import type { PoolPlan, Step } from '@matte/controller/scale/plan'
import { newMemory } from '@matte/controller/scale/pool-memory'
import { buildTritonDeployment } from '@matte/controller/specs/triton-deployment'
import { pino } from 'pino'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { poolClient } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)
const logger = pino({ level: 'silent' })
/** A leader that was stopped right after it had read the lease, and does not know that it leads no more. */
const stopped = { confirm: async () => ({ term: 1 }) }
const successor = { confirm: async () => ({ term: 2 }) }

describe.skipIf(!cluster)('the fence of a new leader', () => {
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let pool: TritonPool
  let deployment: Deployment
  let count = 0
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
  })
  beforeEach(async () => {
    count += 1
    pool = await pools.apply(`fenced-${count}`)
    const built = buildTritonDeployment(pool)
    const { name } = (await namespace.kube().create(deployments, { ...built, spec: { replicas: 0, ...built.spec } }))
      .metadata
    // Kubernetes writes to a new Deployment by itself; what is decided on is what is there after that.
    deployment = await until('the Deployment is at rest', async () => {
      const now = await namespace.kube().get(deployments, name)
      return now?.status?.observedGeneration === now?.metadata.generation && now?.status?.conditions?.length
        ? now
        : undefined
    })
  })

  /** What the stopped leader had decided on, carried out now. */
  async function goOn(step: Step): Promise<number | 'written'> {
    const nothing = { get: () => undefined, of: () => [], wrote: () => undefined }
    const world = { pools: nothing, deployments: nothing, services: nothing, budgets: nothing }
    const metrics = { decisionDelay: { observe: () => undefined } }
    const deps = {
      kube: namespace.kube(),
      leadership: stopped,
      world,
      events: { record: () => undefined },
      metrics,
      logger,
    }
    const observed = { pool, reading: undefined, nowMs: 0 } as unknown as Observed
    const plan = {
      steps: [step],
      decision: { replicas: 0, memory: undefined },
      from: 0,
      rollout: {},
    } as unknown as PoolPlan
    const context = { memory: newMemory(pool), term: 1, signal: new AbortController().signal }
    return apply(deps as unknown as ApplyDeps, observed, plan, context).then(
      () => 'written' as const,
      (error: KubeError) => error.status,
    )
  }
  const fence = () =>
    putUpFence({ kube: namespace.kube(), leadership: successor, logger }, 2, new AbortController().signal)

  const steps: [string, () => Step][] = [
    ['scale', () => ({ kind: 'scale', deployment, from: 0, to: 5 })],
    ['restore', () => ({ kind: 'restore', live: deployment, object: buildTritonDeployment(pool) })],
    ['delete', () => ({ kind: 'delete', object: deployment })],
    ['write the status', () => ({ kind: 'status', status: { desiredReplicas: 5 } as never, notes: [] })],
  ]

  it.each(steps)('lets a former leader %s no more', async (_what, step) => {
    const decided = step()
    await fence()
    expect(await goOn(decided)).toBe(409)
    const now = await namespace.kube().get(deployments, deployment.metadata.name)
    expect(now).toMatchObject({ spec: { replicas: 0 }, metadata: { annotations: { 'matte.dev/leader-term': '2' } } })
    expect((await namespace.kube().get(tritonPools, pool.metadata.name))?.status).toEqual({ leaderTerm: 2 })
  })

  it('lets a leader scale that decides on what is there', async () => {
    await fence()
    const now = await namespace.kube().get(deployments, deployment.metadata.name)
    if (now === undefined) throw new Error('the Deployment is gone')
    expect(await goOn({ kind: 'scale', deployment: now, from: 0, to: 0 })).toBe('written')
  })

  it('is put up once: what has its mark is not written again', async () => {
    await fence()
    const before = await pools.get(pool.metadata.name)
    await fence()
    expect(await pools.get(pool.metadata.name)).toEqual(before)
  })
})
