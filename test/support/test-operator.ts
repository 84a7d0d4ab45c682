// The operator and a worker's routing, without image processing, in this program: on a namespace of the real cluster
// and a database of the test. Several instances act as replicas.

import { deployments, type KubeClient, pods } from '@matte/controller/operator/kube/client'
import type { Deployment, Pod } from '@matte/controller/operator/kube/objects'
import { operatorMode } from '@matte/controller/operator/operator-mode'
import type { PoolStatus } from '@matte/controller/operator/pool/pool-status'
import type { Release } from '@matte/controller/operator/pool/release'
import { type PoolSpecInput, type TritonPool, tritonPools } from '@matte/controller/operator/pool/triton-pool'
import { poolRouting } from '@matte/controller/operator/pool-routing'
import { buildPodTemplate } from '@matte/controller/operator/specs/pod-template'
import { createPodMetrics } from '@matte/controller/worker/routing/pod-metrics'
import { loadTriton } from '@matte/controller/worker/triton/triton-protocol'
import type { Bus } from '@matte/core/bus/bus'
import type { Db } from '@matte/core/db/database'
import { defaultLicencePolicy } from '@matte/core/model/licence-policy'
import { createEdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { defaultPlans } from '@matte/core/workspace/plan'
import { type Logger, pino } from 'pino'
import { withKubeconfig } from './chart-accounts.ts'
import { until } from './until.ts'

/** Without NATS: pools wake by their tick. */
export const deafBus: Bus = {
  name: 'bus',
  prefix: 'none',
  replicas: 1,
  logger: pino({ level: 'silent' }),
  connection: () => undefined,
  start: () => undefined,
  stop: () => undefined,
}

const logLevel = process.env.MATTE_TEST_LOG ?? 'silent'

export type TestOperator = {
  readonly registry: ReturnType<typeof createRegistry>
  readonly workerRegistry: ReturnType<typeof createRegistry>
  /** Revision and model of each pod that would receive requests for this pool now. */
  routes(pool: string): string[]
  /** Stops it like a rolling update: the lease is released. */
  stop(): Promise<void>
}

export type TestOperatorOptions = {
  readonly db: Db
  readonly namespace: string
  readonly moreNamespaces?: readonly string[]
  readonly bus?: Bus
  readonly logger?: Logger
  readonly podPatch?: 'restricted' | 'any'
  /** Accounts that podPatch can name; default none. */
  readonly podServiceAccounts?: readonly string[]
  /** PriorityClasses that podPatch can name; default none. */
  readonly podPriorityClasses?: readonly string[]
  /** Release of operator and worker; without it they serve every pool of the namespace. */
  readonly release?: Release
  /** ConfigMap with pools that the operator applies. */
  readonly poolsConfigMap?: string
  /** Default 100, more than any file has pools. */
  readonly concurrentRollouts?: number
  /** Kubeconfig file of each process; by default the machine's own. */
  readonly kubeconfigs?: Readonly<Record<'operator' | 'worker', string>>
}

export async function startOperator({
  db,
  namespace,
  moreNamespaces = [],
  bus = deafBus,
  logger,
  podPatch = 'restricted',
  podServiceAccounts = [],
  podPriorityClasses = [],
  release,
  poolsConfigMap,
  concurrentRollouts = 100,
  kubeconfigs,
}: TestOperatorOptions): Promise<TestOperator> {
  const licences = defaultLicencePolicy
  const edge = { namespace, moreNamespaces, db, bus, logger: logger ?? pino({ level: logLevel }) }
  const common = { ...edge, release, licences, Stub: loadTriton() }
  const registry = createRegistry('test')
  const operator = await withKubeconfig(kubeconfigs?.operator, () =>
    operatorMode({
      ...common,
      plans: defaultPlans,
      podPatch: { form: podPatch, serviceAccounts: podServiceAccounts, priorityClasses: podPriorityClasses },
      poolsConfigMap,
      platform: { userIds: true, ipv6: false },
      concurrentRollouts,
      registry,
      edges: createEdgeMetrics(registry, ['kubernetes', 'triton']),
    }),
  )
  const workers = createRegistry('test-worker')
  const edges = createEdgeMetrics(workers, ['kubernetes', 'triton'])
  const metrics = createPodMetrics(workers, edges)
  const routing = await withKubeconfig(kubeconfigs?.worker, () =>
    poolRouting({ ...common, registry: workers, edges, metrics, channels: 1 }),
  )
  const services = [...routing.services, ...operator.services]
  for (const service of services) await service.start()
  let stopped: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    for (const service of services.toReversed()) await service.stop()
  }
  return {
    registry,
    workerRegistry: workers,
    routes: (pool) =>
      routing.source
        .pods()
        .filter((pod) => pod.pool === pool)
        .map(({ revision, tritonModel }) => `${revision} ${tritonModel}`),
    stop: () => {
      stopped ??= stop()
      return stopped
    },
  }
}

export const fakeImage = 'localhost/matte/fake-triton:e2e'

/** Starts, rolls and drains in seconds. */
const smallPool: Partial<PoolSpecInput> = {
  image: fakeImage,
  resources: { requests: { cpu: '10m', memory: '32Mi' } },
  drain: { routeStopSeconds: 1, exitTimeoutSeconds: 1, graceSeconds: 8 },
}

/** Metadata of the fake's model under this public version. */
export const modelOf = (modelVersion: string): PoolSpecInput['models'][number] => ({
  name: 'u2netp',
  modelVersion,
  source: { imagePath: '/models' },
})

export type PoolClient = {
  /** Applies a pool as a user does: these fields merged into a small pool, whose model version equals its name. */
  apply(name: string, spec?: Partial<PoolSpecInput>, labels?: Readonly<Record<string, string>>): Promise<TritonPool>
  get(name: string): Promise<TritonPool>
  /** Waits for this pool status. */
  until(name: string, what: string, is: (status: Partial<PoolStatus>, pool: TritonPool) => unknown): Promise<TritonPool>
  deployments(name: string): Promise<Deployment[]>
  pods(name: string): Promise<Pod[]>
}

export function poolClient(kube: () => KubeClient): PoolClient {
  const get = async (name: string): Promise<TritonPool> => {
    const pool = await kube().get(tritonPools, name)
    if (pool === undefined) throw new Error(`there is no pool ${name}`)
    return pool
  }
  const labelSelector = (name: string): string => `matte.dev/pool=${name}`
  const podsOf = async (name: string): Promise<Pod[]> =>
    (await kube().list(pods, { labelSelector: labelSelector(name) })).items
  return {
    get,
    apply: (name, spec = {}, labels = {}) => {
      const pool = {
        apiVersion: 'matte.dev/v1alpha1',
        kind: 'TritonPool',
        metadata: { name, labels },
        // With the same version, one of two pools would serve nothing.
        spec: { ...smallPool, models: [modelOf(name)], ...spec },
      }
      return kube().apply(tritonPools, pool as unknown as TritonPool)
    },
    until: (name, what, is) =>
      until(
        `pool ${name} ${what}`,
        async () => {
          const pool = await get(name)
          if (is(pool.status ?? {}, pool)) return pool
          throw new Error(`${sayConditions(pool)}; its pods: ${(await podsOf(name)).map(sayConditions).join(', ')}`)
        },
        { everyMs: 100 },
      ),
    deployments: async (name) => (await kube().list(deployments, { labelSelector: labelSelector(name) })).items,
    pods: podsOf,
  }
}

/** Differences from the expected status. */
const sayConditions = ({ metadata, status }: Pod | TritonPool): string => {
  const conditions: readonly { type: string; status: string; reason?: string; message?: string }[] =
    status?.conditions ?? []
  const failed = conditions.filter((condition) => condition.status !== 'True')
  return `${metadata.name} ${failed.map(({ type, reason, message }) => `${type} ${reason} ${message}`).join(', ')}`
}

/** Reason of the condition if it has this status; undefined otherwise. */
export const reasonOf = (
  { conditions }: Partial<PoolStatus>,
  type: string,
  is: 'True' | 'False' | 'Unknown' = 'True',
) => conditions?.find((condition) => condition.type === type && condition.status === is)?.reason

/** A patch with these variables for the pool's fake, which choose its faults. */
export function patchWithEnv(pool: TritonPool, env: Readonly<Record<string, string>>): Record<string, unknown> {
  const { podPatch: _, ...spec } = pool.spec
  const { containers } = buildPodTemplate({ ...pool, spec }).spec as unknown as {
    containers: { env: { name: string; value: string }[] }[]
  }
  const more = Object.entries(env).map(([name, value]) => ({ name, value }))
  return { spec: { containers: containers.map((container) => ({ ...container, env: [...container.env, ...more] })) } }
}
