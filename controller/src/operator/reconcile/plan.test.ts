import { emptyBuckets } from '@matte/core/scale/latency'
import { describe, expect, it } from 'vitest'
import type { Deployment, KubeObject, Pod, PodDisruptionBudget } from '../kube/objects.ts'
import { deletionCostAnnotation, leaderTermAnnotation } from '../pool/labels.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import { servedPools } from '../pool/served-pools.ts'
import { type PoolSpecInput, type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import { buildDisruptionBudget } from '../specs/disruption-budget.ts'
import { buildTritonDeployment, targetRevision } from '../specs/triton-deployment.ts'
import { buildTritonService } from '../specs/triton-service.ts'
import { gather, type World } from './gather.ts'
import { planPool } from './plan.ts'
import { newMemory, type PoolMemory } from './pool-memory.ts'
import type { PodMark, Step } from './step.ts'
import { restorationOf } from './steps.ts'

const term = { count: 4, lease: 'lease-uid' }
const stamp = '4/lease-uid'
const now = Date.UTC(2026, 10, 21, 12)

function poolOf(spec: Partial<PoolSpecInput> = {}, status?: Partial<PoolStatus>): TritonPool {
  return {
    apiVersion: 'matte.dev/v1alpha1',
    kind: 'TritonPool',
    metadata: {
      name: 'p',
      uid: 'pool-uid',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-11-21T11:00:00Z',
    },
    spec: withDefaults({
      models: [{ name: 'u2netp', modelVersion: 'service-v2', source: { imagePath: '/models' } }],
      ...spec,
    }),
    ...(status && { status }),
  }
}

const idle = {
  arrivals3s: 0,
  arrivals30s: 0,
  backlog: 0,
  batchSlots: 0,
  batchProcessing: 0,
  processing: 0,
  oldestSeconds: 0,
  serviceSeconds: 0.5,
  p95Seconds: undefined,
  latencyBuckets: emptyBuckets(),
  perRevision: [],
}

const asked = <T extends KubeObject>(object: T, version = '7'): T => ({
  ...object,
  metadata: { ...object.metadata, uid: `uid-${object.metadata.name}`, resourceVersion: version, generation: 1 },
})

function deploymentOf(pool: TritonPool, replicas: number): Deployment {
  const built = buildTritonDeployment(pool)
  return asked({ ...built, spec: { ...built.spec, replicas } })
}

const podOf = (pool: TritonPool, name: string, more: Partial<Pod['metadata']> = {}, ready = true): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    uid: name,
    resourceVersion: '3',
    creationTimestamp: '2026-11-21T11:30:00Z',
    labels: { 'matte.dev/pool': 'p', 'matte.dev/revision': targetRevision(pool) },
    ...more,
  },
  spec: { containers: [{ name: 'triton' }], nodeName: `node-${name}` },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
})

type Seen = {
  readonly pool: TritonPool
  readonly deployments?: readonly Deployment[]
  readonly services?: readonly KubeObject[]
  /** true: as it is asked for of a pool without a rollout. */
  readonly budget?: boolean | PodDisruptionBudget
  readonly pods?: readonly Pod[]
  readonly demand?: Partial<typeof idle>
  /** Of each pod. */
  readonly slots?: { readonly podSlots: number; readonly onProbation?: boolean }
}

const indexOf = (objects: readonly KubeObject[]) => ({
  get: (name: string) => objects.find(({ metadata }) => metadata.name === name),
  of: () => objects,
  wrote: () => undefined,
})

async function planOf(seen: Seen, memory: PoolMemory = newMemory(seen.pool)) {
  const { pool, deployments = [], services = [], budget = false, pods = [], demand = {}, slots } = seen
  const world = {
    pools: indexOf([pool]),
    deployments: indexOf(deployments),
    pods: indexOf(pods),
    services: indexOf(services),
    budgets: indexOf(budget === true ? [asked(buildDisruptionBudget(pool))] : budget === false ? [] : [budget]),
    served: () => servedPools([pool]),
    demand: {
      latest: async () => ({
        reading: { demand: { ...idle, ...demand }, atMs: 1_000, at: new Date(now) },
        failure: undefined,
      }),
      freshInMs: () => 0,
    },
    source: {
      pods: () =>
        pods
          .filter(({ status }) => status?.conditions?.[0]?.status === 'True')
          .map(({ metadata }) => ({
            pool: 'p',
            name: metadata.name,
            tritonModel: 'u2netp',
            address: metadata.name,
            podSlots: 1,
            ...slots,
          })),
      errors: () => new Map(),
    },
    slotsUsed: (address: string) => (address.startsWith('busy') ? 1 : 0),
    models: { ask: () => undefined, of: () => undefined, close: () => undefined },
    clock: { monotonicMs: () => 1_000, nowMs: () => now },
  } as unknown as World
  const observed = await gather(world, 'p', memory)
  if (observed === undefined) throw new Error('the pool is gone')
  return planPool(observed, { memory, term })
}

/** The steps as words. */
const words = (steps: readonly Step[]): string[] =>
  steps.map((step) => {
    if (step.kind === 'create' || step.kind === 'delete') return `${step.kind} ${step.object.kind}`
    if (step.kind === 'restore') return `restore ${step.object.kind}`
    if (step.kind === 'marks') return `marks ${step.marks.map(describeMark).join(', ')}`
    if (step.kind === 'scale') return `scale ${step.from} to ${step.to}`
    return 'status'
  })

const describeMark = ({ pod, annotations }: PodMark): string => {
  const cost = annotations[deletionCostAnnotation]
  const stamped = annotations[leaderTermAnnotation] === stamp ? pod.metadata.name : `${pod.metadata.name} unstamped`
  return cost === undefined ? stamped : `${stamped} ${cost}`
}

/** A pool with all that belongs to it, and its status as it was last written. */
async function settled(
  spec: Partial<PoolSpecInput>,
  podNames: readonly string[],
): Promise<Seen & { pool: TritonPool }> {
  const bare = poolOf(spec)
  const parts = {
    deployments: [deploymentOf(bare, podNames.length)],
    services: [asked(buildTritonService(bare, targetRevision(bare)))],
    budget: true,
    pods: podNames.map((name) => podOf(bare, name)),
  }
  const { status } = await planOf({ ...parts, pool: { ...bare, status: { desiredReplicas: podNames.length } } })
  return { ...parts, pool: { ...bare, status } }
}

describe('the plan of a pool', () => {
  it('tells what it begins with, and makes everything that is missing, without pods', async () => {
    const plan = await planOf({ pool: poolOf() })
    expect(words(plan.steps)).toEqual(['status', 'create Service', 'create Deployment', 'create PodDisruptionBudget'])
    const made = plan.steps.find((step) => step.kind === 'create' && step.object.kind === 'Deployment')
    expect(made).toMatchObject({
      object: { spec: { replicas: 0 }, metadata: { annotations: { [leaderTermAnnotation]: stamp } } },
    })
  })

  it('does nothing while nothing changes', async () => {
    const seen = await settled({}, ['a'])
    expect(words((await planOf(seen)).steps)).toEqual(['status'])
    const plan = await planOf({ ...seen, demand: {} })
    expect(plan.from).toBe(plan.decision.replicas)
  })

  it('asks for more pods first and tells of it after, as one decision', async () => {
    const seen = await settled({}, ['a'])
    const plan = await planOf({ ...seen, demand: { backlog: 50, arrivals3s: 12, arrivals30s: 60, oldestSeconds: 1 } })
    const { replicas, sentence, rule } = plan.decision
    expect(replicas).toBeGreaterThan(1)
    expect(words(plan.steps)).toEqual([`scale 1 to ${replicas}`, 'status'])
    const [, told] = plan.steps
    expect(told).toMatchObject({
      status: { desiredReplicas: replicas },
      notes: [{ type: 'Normal', reason: 'ScaledUp', message: `1 → ${replicas}: ${sentence}` }],
    })
    expect(plan.status.scalingHistory.at(-1)).toMatchObject({ from: 1, to: replicas, rule, sentence })
  })

  it('does not take the one slot of pods on probation for what their like have', async () => {
    const seen = await settled({}, ['a'])
    const { status } = await planOf({ ...seen, slots: { podSlots: 8 } })
    const pool = { ...seen.pool, status }
    const after = await planOf({ ...seen, pool, slots: { podSlots: 1, onProbation: true } })
    expect(after.status.slotsPerPod).toBe(8)
  })

  it('marks the idle pod before it lowers the number', async () => {
    const seen = await settled({ replicas: 1, scaling: { owner: 'external' } }, ['busy-1', 'idle', 'busy-2'])
    const pool = { ...seen.pool, spec: { ...seen.pool.spec, replicas: 2 } }
    expect(words((await planOf({ ...seen, pool })).steps).slice(0, 2)).toEqual([
      'marks busy-1, idle -1, busy-2',
      'scale 3 to 2',
    ])
  })

  it('stamps the pods that may stay once in a term, so that a former leader marks none of them', async () => {
    const names = ['busy-1', 'idle', 'busy-2']
    const seen = await settled({ replicas: 1, scaling: { owner: 'external' } }, names)
    const pool = { ...seen.pool, spec: { ...seen.pool.spec, replicas: 2 } }
    const stepsWith = async (annotations: Record<string, string>) => {
      const pods = names.map((name) => podOf(seen.pool, name, { annotations }))
      return words((await planOf({ ...seen, pool, pods })).steps).slice(0, 2)
    }
    expect(await stepsWith({ [leaderTermAnnotation]: stamp })).toEqual(['marks idle -1', 'scale 3 to 2'])
    const again = ['marks busy-1, idle -1, busy-2', 'scale 3 to 2']
    expect(await stepsWith({ [leaderTermAnnotation]: '3/lease-uid' })).toEqual(again)
    // The Lease was deleted and made again, and its new one has come to the same count.
    expect(await stepsWith({ [leaderTermAnnotation]: '4/former-lease' })).toEqual(again)
  })

  it('lets 32 pods go at a time, and all at once when none is left to choose', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `p${index}`)
    const seen = await settled({ replicas: 1, scaling: { owner: 'external' } }, names)
    const few = await planOf({ ...seen, pool: { ...seen.pool, spec: { ...seen.pool.spec, replicas: 10 } } })
    const [marks = ''] = words(few.steps)
    expect(marks.split(', ')).toHaveLength(100)
    expect(marks.split(', ').filter((word) => word.endsWith(' -1'))).toHaveLength(32)
    expect(words(few.steps)).toContain('scale 100 to 68')
    const none = await planOf({ ...seen, pool: { ...seen.pool, spec: { ...seen.pool.spec, replicas: 0 } } })
    expect(words(none.steps)[0]).toBe('scale 100 to 0')
  })

  it('writes the state of a rollout before it acts on it', async () => {
    const seen = await settled({}, ['a'])
    const changed = poolOf({ image: 'triton:next' }, seen.pool.status)
    const plan = await planOf({ ...seen, pool: changed })
    expect(words(plan.steps)).toEqual([
      'status',
      'create Service',
      'create Deployment',
      'restore PodDisruptionBudget', // which leaves out what was never ready
    ])
    const budget = plan.steps.find((step) => step.kind === 'restore')
    expect(budget?.object.spec).toMatchObject({
      selector: { matchExpressions: [{ operator: 'NotIn', values: [targetRevision(changed)] }] },
    })
    expect(plan.status.rollout).toMatchObject({ stable: targetRevision(seen.pool), canary: targetRevision(changed) })
  })

  it('restores an object once for each thing that is wanted of it, not once for each version of it', async () => {
    const seen = await settled({}, ['a'])
    const tried = asked(buildDisruptionBudget(seen.pool, 'former01'))
    const memory = newMemory(seen.pool)
    const restores = async () =>
      (await planOf({ ...seen, budget: tried }, memory)).steps.filter((step) => step.kind === 'restore')
    // Written during a rollout, when the new revision was to be left out: so it has been since.
    memory.restored.set(`PodDisruptionBudget p`, restorationOf(tried, tried))
    const [step] = await restores()
    expect(step?.object.spec).toMatchObject({ selector: { matchExpressions: [{ operator: 'Exists' }] } })
    // What differs after that is left.
    if (step) memory.restored.set(`PodDisruptionBudget p`, restorationOf(tried, step.object))
    expect(await restores()).toEqual([])
  })

  it('never touches the template of a revision that the spec no longer asks for', async () => {
    const seen = await settled({}, ['a'])
    const [old] = seen.deployments ?? []
    if (old === undefined) throw new Error('no Deployment')
    const edited = { ...old, spec: { ...old.spec, template: { ...old.spec.template, spec: { containers: [] } } } }
    const own = await planOf({ ...seen, deployments: [edited] })
    expect(words(own.steps)).toContain('restore Deployment')
    const other = await planOf({
      ...seen,
      pool: poolOf({ image: 'triton:next' }, seen.pool.status),
      deployments: [edited],
    })
    expect(words(other.steps)).not.toContain('restore Deployment')
  })

  it('removes a replaced revision when its last pod has gone, and its Service after it', async () => {
    const seen = await settled({}, ['a'])
    const former = poolOf({ image: 'triton:former' })
    const service = asked(buildTritonService(former, targetRevision(former)))
    const withOld = {
      ...seen,
      deployments: [...(seen.deployments ?? []), deploymentOf(former, 0)],
      services: [...(seen.services ?? []), service],
    }
    const going = podOf(former, 'old', { deletionTimestamp: '2026-11-21T12:00:00Z' })
    const deletes = async (what: Seen) => words((await planOf(what)).steps).filter((word) => word.startsWith('delete'))
    expect(await deletes({ ...withOld, pods: [...(seen.pods ?? []), going] })).toEqual([])
    expect(await deletes(withOld)).toEqual(['delete Deployment'])
    // A node that does not answer keeps its pods Terminating; nobody waits for that.
    const since = (seconds: number) => new Date(now - seconds * 1_000).toISOString()
    const stuck = (seconds: number) => [
      ...(seen.pods ?? []),
      podOf(former, 'old', { deletionTimestamp: since(seconds) }),
    ]
    expect(await deletes({ ...withOld, pods: stuck(30) })).toEqual([])
    expect(await deletes({ ...withOld, pods: stuck(31) })).toEqual(['delete Deployment'])
    expect(await deletes({ ...withOld, deployments: seen.deployments ?? [] })).toEqual(['delete Service'])
  })

  it('leaves alone what belongs to a deleted pool of the same name', async () => {
    const former = { ...poolOf(), metadata: { ...poolOf().metadata, uid: 'former' } }
    const seen = { pool: poolOf(), deployments: [deploymentOf(former, 1)], pods: [podOf(former, 'a')] }
    const plan = await planOf({ ...seen, services: [asked(buildTritonService(former, targetRevision(former)))] })
    expect(words(plan.steps)).toEqual(['status', 'create Service', 'create Deployment', 'create PodDisruptionBudget'])
    expect(plan.status.rollout.canary).toBeUndefined()
  })

  it('keeps the pods that are there when its status was lost', async () => {
    const seen = await settled({ scaling: { minReplicas: 0 } }, ['a', 'b', 'c'])
    const plan = await planOf({ ...seen, pool: poolOf({ scaling: { minReplicas: 0 } }) })
    expect(plan.decision.replicas).toBe(3)
  })
})
