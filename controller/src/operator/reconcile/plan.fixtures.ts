// A pool and its objects, for tests of plans.
import { emptyBuckets } from '@matte/core/latency'
import { type Deployment, type KubeObject, keyOfObject, type Pod, type PodDisruptionBudget } from '../kube/objects.ts'
import type { PoolStatus } from '../pool/pool-status.ts'
import { servedPools } from '../pool/served-pools.ts'
import { type PoolSpecInput, type TritonPool, withDefaults } from '../pool/triton-pool.ts'
import { buildDisruptionBudget } from '../specs/disruption-budget.ts'
import { buildTritonDeployment, targetRevision } from '../specs/triton-deployment.ts'
import { buildTritonService } from '../specs/triton-service.ts'
import { gather, type World } from './gather.ts'
import { planPool } from './plan.ts'
import { newMemory, type PoolMemory } from './pool-memory.ts'

const term = { count: 4, lease: 'lease-uid' }
export const token = '4/lease-uid'
export const now = Date.UTC(2026, 10, 21, 12)

export function poolOf(spec: Partial<PoolSpecInput> = {}, status?: Partial<PoolStatus>): TritonPool {
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

export const asked = <T extends KubeObject>(object: T, version = '7'): T => ({
  ...object,
  metadata: { ...object.metadata, uid: `uid-${object.metadata.name}`, resourceVersion: version, generation: 1 },
})

export function deploymentOf(pool: TritonPool, replicas: number): Deployment {
  const built = buildTritonDeployment(pool)
  return asked({ ...built, spec: { ...built.spec, replicas } })
}

export const podOf = (pool: TritonPool, name: string, more: Partial<Pod['metadata']> = {}, ready = true): Pod => ({
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
  spec: { nodeName: `node-${name}` },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
})

export type Seen = {
  readonly pool: TritonPool
  readonly deployments?: readonly Deployment[]
  readonly services?: readonly KubeObject[]
  /** true: as it is asked for of a pool without a rollout. */
  readonly budget?: boolean | PodDisruptionBudget
  readonly pods?: readonly Pod[]
  readonly demand?: Partial<typeof idle>
  readonly clock?: { readonly monotonicMs: () => number; readonly nowMs: () => number }
  /** One entry per pod. */
  readonly slots?: { readonly podSlots: number; readonly onProbation?: boolean }
}

const indexOf = (objects: readonly KubeObject[]) => ({
  get: (key: string) => objects.find((object) => key === object.metadata.name || key === keyOfObject(object)),
  of: () => objects,
  recordWrite: () => undefined,
  recordGone: () => undefined,
})

/** The records of a leader whose console shows nothing. */
export const noRecords = {
  observe: () => undefined,
  decided: () => undefined,
  closed: () => undefined,
  gone: () => undefined,
}

/** Has only the members that gather and apply read. */
export function worldOf(seen: Seen): World {
  const { pool, deployments = [], services = [], budget = false, pods = [], demand = {}, slots } = seen
  return {
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
    clock: seen.clock ?? { monotonicMs: () => 1_000, nowMs: () => now },
  } as unknown as World
}

export async function planOf(seen: Seen, memory: PoolMemory = newMemory(seen.pool), turn?: string) {
  const observed = await gather(worldOf(seen), 'p', memory)
  if (observed === undefined) throw new Error('the pool is gone')
  return planPool(observed, { memory, term }, turn)
}

/** A pool with all that belongs to it, and its status as it was last written. */
export async function settled(
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
