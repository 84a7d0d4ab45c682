// The whole service with Triton pods in the cluster; API, dispatcher, operators and workers run beside it, with this
// machine's PostgreSQL, NATS and store.
import { deployments, type KubeClient, pods } from '@matte/controller/operator/kube/client'
import type { Deployment, Pod } from '@matte/controller/operator/kube/objects'
import { type PoolSpecInput, type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { afterAll, beforeAll } from 'vitest'
import type { ProcessName, TestProcess } from '../../support/processes.ts'
import { type Stack, useStack } from '../../support/stack.ts'
import { until } from '../../support/until.ts'
import { type Cluster, openCluster } from './cluster.ts'
import { kubeEnv, smallPool } from './small-pool.ts'

export type Operator = {
  readonly stack: Stack
  readonly kube: KubeClient
  readonly namespace: string
  readonly cluster: Cluster
  /** Starts one operator and one worker with these variables; returns the operator. */
  startController(env?: Readonly<Record<string, string>>): Promise<TestProcess & { readonly worker: TestProcess }>
  /** Applies a pool: the caller's fields over a small pool of fakes. */
  applyPool(name: string, spec?: Partial<PoolSpecInput>, annotations?: Record<string, string>): Promise<TritonPool>
  pool(name: string): Promise<TritonPool>
  untilPool(
    name: string,
    what: string,
    is: (pool: TritonPool) => unknown,
    options?: { readonly timeoutMs?: number; readonly everyMs?: number },
  ): Promise<TritonPool>
  /** Deployments that a controller created for the pool. */
  podsOf(name: string): Promise<Pod[]>
  deploymentsOf(name: string): Promise<Deployment[]>
}

export function useOperator(processes: readonly ProcessName[] = ['api', 'dispatcher']): Operator {
  let cluster: Cluster | undefined
  const there = (): Cluster => {
    if (cluster === undefined) throw new Error('the cluster is there inside tests and hooks only')
    return cluster
  }
  beforeAll(async () => {
    cluster = await openCluster()
  })
  // Hooks run in reverse: controllers stop before the namespace is deleted.
  afterAll(async () => {
    await cluster?.end()
  })
  const stack = useStack({ processes })
  const pool = async (name: string): Promise<TritonPool> => {
    const found = await there().kube.get(tritonPools, name)
    if (found === undefined) throw new Error(`there is no pool ${name}`)
    return found
  }
  const ofPool = (name: string) => ({ labelSelector: `matte.dev/pool=${name}` })
  return {
    stack,
    get kube() {
      return there().kube
    },
    get namespace() {
      return there().namespace
    },
    get cluster() {
      return there()
    },
    startController: async (env = {}) => {
      const shared = { ...kubeEnv(), KUBE_NAMESPACE: there().namespace, ...env }
      const [worker, leader] = await Promise.all([
        stack.start('worker', { TRITON_POOLS: 'on', MODELS_STATIC: '', ...shared }),
        stack.start('operator', shared),
      ])
      return { ...leader, worker }
    },
    applyPool: (name, spec = {}, annotations = {}) =>
      there().kube.apply(tritonPools, {
        apiVersion: 'matte.dev/v1alpha1',
        kind: 'TritonPool',
        metadata: { name, annotations },
        // As a user writes it; the API server adds defaults.
        spec: { ...smallPool, ...spec },
      } as unknown as TritonPool),
    pool,
    untilPool: (name, what, is, options = {}) =>
      until(
        `pool ${name} ${what}`,
        async () => {
          const seen = await pool(name)
          return is(seen) ? seen : undefined
        },
        { timeoutMs: 180_000, everyMs: 100, ...options },
      ),
    podsOf: async (name) => (await there().kube.list(pods, ofPool(name))).items,
    deploymentsOf: async (name) => (await there().kube.list(deployments, ofPool(name))).items,
  }
}

/** Reason of a condition, if it has this status. */
export const reasonOf = ({ status }: TritonPool, type: string, is: 'True' | 'False' = 'True'): string | undefined =>
  status?.conditions?.find((condition) => condition.type === type && condition.status === is)?.reason

/** Pods that are ready and not terminating. */
export const isReady = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  Boolean(status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'))
