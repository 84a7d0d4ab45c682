// A former leader is stopped between its last read of the Lease and a write, and continues after its successor has
// written its fencing tokens: no kind of write takes effect.

import { writeFencingTokens } from '@matte/controller/operator/fencing-tokens'
import {
  deployments,
  type KubeError,
  podDisruptionBudgets,
  pods,
  type Resource,
  services,
} from '@matte/controller/operator/kube/client'
import { fencingTokenOf, type Term } from '@matte/controller/operator/kube/leadership'
import type { Deployment, KubeObject, Pod, PodDisruptionBudget, Service } from '@matte/controller/operator/kube/objects'
import { revisionLabel, revisionLabels } from '@matte/controller/operator/pool/labels'
import { type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { type ApplyDeps, apply } from '@matte/controller/operator/reconcile/apply'
import type { Observed } from '@matte/controller/operator/reconcile/gather'
import type { PoolPlan } from '@matte/controller/operator/reconcile/plan'
import { scaleSteps } from '@matte/controller/operator/reconcile/plan-steps'
import { newMemory } from '@matte/controller/operator/reconcile/pool-memory'
import type { Step } from '@matte/controller/operator/reconcile/step'
import { buildDisruptionBudget } from '@matte/controller/operator/specs/disruption-budget'
import { buildTritonDeployment, targetRevision } from '@matte/controller/operator/specs/triton-deployment'
import { buildTritonService } from '@matte/controller/operator/specs/triton-service'
import { pino } from 'pino'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { allowUpdates, refuseUpdates } from '../support/admission/refuse-updates.ts'
import { findCluster, useNamespace } from '../support/kube.ts'
import { installPoolDefinition } from '../support/pool-definition.ts'
import { poolClient } from '../support/test-operator.ts'
import { until } from '../support/until.ts'

const cluster = await findCluster(import.meta.filename)
const logger = pino({ level: 'silent' })
const former: Term = { count: 1, lease: 'first' }
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost'

const successors: [string, Term][] = [
  ['a leader of the next term', { count: 2, lease: 'first' }],
  ['the first leader of a recreated Lease', { count: 1, lease: 'second' }],
]

describe.skipIf(!cluster).each(successors)('the fencing tokens of %s', (_who, successor) => {
  const namespace = useNamespace(cluster)
  const pools = poolClient(namespace.kube)
  let pool: TritonPool
  let deployment: Deployment
  let service: Service
  let budget: PodDisruptionBudget
  let count = 0
  beforeAll(async () => {
    if (cluster) await installPoolDefinition(cluster)
  })
  beforeEach(async () => {
    count += 1
    pool = await pools.apply(`fenced-${count}`)
    const built = buildTritonDeployment(pool)
    const kube = namespace.kube()
    const { name } = (await kube.create(deployments, { ...built, spec: { replicas: 0, ...built.spec } })).metadata
    await kube.create(services, buildTritonService(pool, targetRevision(pool)))
    await kube.create(podDisruptionBudgets, buildDisruptionBudget(pool))
    // Decides after Kubernetes' own writes to a new Deployment and a new budget.
    await until('the Deployment is idle', async () => {
      const { metadata, status } = (await kube.get(deployments, name)) ?? {}
      return status?.observedGeneration === metadata?.generation && status?.conditions?.length
    })
    await until('the budget is idle', async () => (await kube.get(podDisruptionBudgets, pool.metadata.name))?.status)
    await writeTokens(former)
    pool = await pools.get(pool.metadata.name)
    deployment = await now(deployments, name)
    service = await now(services, name)
    budget = await now(podDisruptionBudgets, pool.metadata.name)
  })

  const writeTokens = (term: Term) => {
    const leadership = { confirm: async () => ({ term: term.count }) }
    return writeFencingTokens({ kube: namespace.kube(), leadership, logger }, term, new AbortController().signal)
  }

  async function now<T extends KubeObject>(resource: Resource<T>, name: string): Promise<T> {
    const object = await namespace.kube().get(resource, name)
    if (object === undefined) throw new Error(`there is no ${resource.kind} ${name}`)
    return object
  }

  /** Applies steps like a leader that has not noticed the end of its term. */
  async function carryOut(steps: readonly Step[], term: Term): Promise<number | 'written'> {
    const nothing = { get: () => undefined, of: () => [], recordWrite: () => undefined }
    const clock = { monotonicMs: () => 0 }
    const world = { clock, pools: nothing, deployments: nothing, services: nothing, budgets: nothing, pods: nothing }
    const deps = {
      kube: namespace.kube(),
      leadership: { confirm: async () => ({ term: term.count }) },
      world,
      events: { record: () => undefined },
      metrics: { decisionDelay: { observe: () => undefined } },
      logger,
    }
    const observed = { pool, reading: undefined, nowMs: 0 } as unknown as Observed
    const decision = { replicas: 0, memory: undefined }
    const plan = { steps, decision, from: 0, rollout: {} } as unknown as PoolPlan
    const context = { memory: newMemory(pool), term, signal: new AbortController().signal }
    return apply(deps as unknown as ApplyDeps, observed, plan, context).then(
      () => 'written' as const,
      (error: KubeError) => error.status,
    )
  }
  /** Executes the decision of the stopped leader. */
  const goOn = (step: Step) => carryOut([step], former)

  const steps: [string, () => Step][] = [
    ['scale', () => ({ kind: 'scale', deployment, from: 0, to: 5 })],
    ['restore a Deployment', () => ({ kind: 'restore', live: deployment, object: buildTritonDeployment(pool) })],
    ['delete a Deployment', () => ({ kind: 'delete', object: deployment })],
    [
      'restore a Service',
      () => ({ kind: 'restore', live: service, object: buildTritonService(pool, targetRevision(pool)) }),
    ],
    ['delete a Service', () => ({ kind: 'delete', object: service })],
    ['restore a budget', () => ({ kind: 'restore', live: budget, object: buildDisruptionBudget(pool) })],
    ['write the status', () => ({ kind: 'status', status: { desiredReplicas: 5 } as never, events: [] })],
  ]

  it.each(steps)('do not let a former leader %s', async (_what, step) => {
    const decided = step()
    await writeTokens(successor)
    expect(await goOn(decided)).toBe(409)
    const annotations = { 'matte.dev/leader-term': fencingTokenOf(successor) }
    expect(await now(deployments, deployment.metadata.name)).toMatchObject({
      spec: { replicas: 0 },
      metadata: { annotations },
    })
    expect(await now(services, service.metadata.name)).toMatchObject({ metadata: { annotations } })
    expect(await now(podDisruptionBudgets, budget.metadata.name)).toMatchObject({ metadata: { annotations } })
    const { status } = await now(tritonPools, pool.metadata.name)
    expect(status).toEqual({ leaderTerm: successor.count, leaderLease: successor.lease, observedGeneration: 0 })
  })

  it.each(['scale', 'restore a Deployment', 'delete a Deployment'])(
    'do not let a former leader %s if only the scale can be written',
    async (what) => {
      const decided = steps.find(([known]) => known === what)?.[1]()
      const of = `object.metadata.name == '${deployment.metadata.name}'`
      await refuseUpdates(namespace.kube(), { resources: [['apps', 'deployments']], of })
      try {
        expect(await writeTokens(successor)).toMatchObject([
          { pool: pool.metadata.name, object: `Deployment ${deployment.metadata.name}`, closesPool: false },
        ])
      } finally {
        await allowUpdates(namespace.kube())
      }
      if (decided) expect(await goOn(decided)).toBe(409)
      const { metadata, spec } = await now(deployments, deployment.metadata.name)
      expect(spec).toEqual(deployment.spec)
      expect(metadata.generation).toBe(deployment.metadata.generation)
    },
  )

  it('do not let a former leader annotate pods after the successor has annotated its own', async () => {
    const names = ['one', 'two', 'three'].map((which) => `${pool.metadata.name}-${which}`)
    for (const name of names) await givenPod(name)
    const before = await podsAtRest(names)
    // Each sees another pod as idle.
    const formerSteps = stepsDown(before, { busy: names.slice(0, 2), term: former })
    const [own] = formerSteps
    await writeTokens(successor)
    const annotations = stepsDown(before, { busy: names.slice(1), term: successor }).filter(
      ({ kind }) => kind === 'annotate',
    )
    expect(await carryOut(annotations, successor)).toBe('written')
    expect(own?.kind).toBe('annotate')
    if (own) expect(await goOn(own)).toBe(409)
    const after = await Promise.all(names.map((name) => now(pods, name)))
    expect(after.map(({ metadata }) => metadata.annotations?.[deletionCost])).toEqual(['-1', undefined, undefined])
  })

  /** A pod that no node accepts, so the kubelet never writes to it. */
  async function givenPod(name: string): Promise<void> {
    const revision = deployment.metadata.labels?.[revisionLabel] ?? ''
    // Uses labels other than those of the pool, whose Deployment would delete the pod.
    const labels = { ...revisionLabels('none', revision), 'matte.dev/pool': 'none' }
    const spec = {
      nodeSelector: { 'matte.dev/nowhere': 'true' },
      containers: [{ name: 'triton', image: 'none', securityContext: { allowPrivilegeEscalation: false } }],
    }
    await namespace.kube().create(pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec } as Pod)
  }

  const podsAtRest = (names: readonly string[]): Promise<Pod[]> =>
    until('the pods find no node', async () => {
      const found = await Promise.all(names.map((name) => now(pods, name)))
      return found.every(({ status }) => status?.conditions?.some(({ reason }) => reason === 'Unschedulable')) && found
    })

  /** The plan from three pods to two by a leader of `term` that sees these pods busy. */
  function stepsDown(seen: readonly Pod[], { busy, term }: { busy: readonly string[]; term: Term }): Step[] {
    const revision = deployment.metadata.labels?.[revisionLabel] ?? ''
    const observed = {
      deployments: new Map([[revision, { ...deployment, spec: { ...deployment.spec, replicas: 3 } }]]),
      pods: seen,
      observation: {
        pods: seen.map(({ metadata }) => ({
          name: metadata.name,
          ready: true,
          slotsUsed: busy.includes(metadata.name) ? 1 : 0,
        })),
      },
    } as unknown as Observed
    const rollout = { pods: new Map([[revision, 2]]) } as unknown as Parameters<typeof scaleSteps>[1]
    return scaleSteps(observed, rollout, { memory: newMemory(pool), term })
  }

  it('let a leader scale that decides on current versions', async () => {
    await writeTokens(successor)
    const there = await now(deployments, deployment.metadata.name)
    expect(await carryOut([{ kind: 'scale', deployment: there, from: 0, to: 0 }], successor)).toBe('written')
  })

  it('are written once per object', async () => {
    await writeTokens(successor)
    const before = await pools.get(pool.metadata.name)
    const made = await now(services, service.metadata.name)
    await writeTokens(successor)
    expect(await pools.get(pool.metadata.name)).toEqual(before)
    expect(await now(services, service.metadata.name)).toEqual(made)
  })
})
