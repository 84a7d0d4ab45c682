// Services of the operator. Every replica keeps caches, so a new leader starts with current objects. The leader writes
// its fencing tokens, then reconciles each pool once a second, and earlier after a change. Without an API server no
// replica leads, the pods stay as they are, and the workers keep working.
import type { Bus } from '@matte/core/bus/bus'
import type { Db } from '@matte/core/db/database'
import type { LicencePolicy } from '@matte/core/model/licence-policy'
import { forgetPool, recordPool } from '@matte/core/pool/record-pool'
import { systemClock } from '@matte/core/runtime/clock'
import { settledWithin } from '@matte/core/runtime/race'
import type { Service } from '@matte/core/runtime/service'
import { readDemand } from '@matte/core/scale/demand-queries'
import type { Plans } from '@matte/core/workspace/plan'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { PodSource } from '../worker/routing/pod-source.ts'
import type { TritonStubClass } from '../worker/triton/triton-protocol.ts'
import type { Watch } from './cluster.ts'
import { writeFencingTokens } from './fencing-tokens.ts'
import { deployments, type KubeClient, podDisruptionBudgets, pods, services } from './kube/client.ts'
import { eventRecorder } from './kube/events.ts'
import type { KubeMetrics } from './kube/kube-metrics.ts'
import { type Leadership, leadership, type Term } from './kube/leadership.ts'
import type { NamespacedReflector } from './kube/namespaced-reflector.ts'
import { type EndpointSlice, type KubeObject, keyOfObject, nameInKey, objectKey } from './kube/objects.ts'
import type { Reflector } from './kube/reflector.ts'
import { workQueue } from './kube/work-queue.ts'
import { leaderTerm, namespaceTerms } from './leader-term.ts'
import { managedSelector, poolLabel } from './pool/labels.ts'
import { leaseNameOf, ownsPool, type Release } from './pool/release.ts'
import type { PoolCatalogue } from './pool/served-pools.ts'
import type { PodPatchPolicy } from './pool/spec/pod-patch.ts'
import type { TritonPool } from './pool/triton-pool.ts'
import { type PoolsByName, reportTakenName } from './pool-names.ts'
import { nudgeListener } from './reconcile/nudge-listener.ts'
import { demandReader } from './reconcile/observe/demand-reader.ts'
import { fitPools } from './reconcile/observe/fitted-pools.ts'
import { liveIndex } from './reconcile/observe/live-index.ts'
import { modelIndex } from './reconcile/observe/model-index.ts'
import { startPhaseRecorder } from './reconcile/observe/start-phases.ts'
import { type PoolMemory, rememberStart } from './reconcile/pool-memory.ts'
import { reconcile } from './reconcile/reconcile.ts'
import { createScaleMetrics } from './reconcile/scale-metrics.ts'
import { poolRecords } from './records/pool-records.ts'
import { createRecordMetrics } from './records/record-metrics.ts'
import { rolloutQueue } from './rollout/rollout-queue.ts'
import type { Platform } from './specs/platform.ts'
import { valuesPools } from './values-pools/values-pools.ts'

export type OperatorOptions = {
  readonly kube: KubeClient
  readonly kubeMetrics: KubeMetrics
  /** Started and stopped by operator-mode.ts, like `slices` and `source`. */
  readonly pools: NamespacedReflector<TritonPool>
  readonly watch: Watch
  readonly named: PoolsByName
  readonly homePools: Reflector<TritonPool>
  readonly release?: Release | undefined
  readonly poolsConfigMap?: string | undefined
  readonly catalogue: PoolCatalogue
  readonly slices: Pick<NamespacedReflector<EndpointSlice>, 'synced'>
  readonly source: PodSource
  readonly slotsUsed: (address: string) => number
  readonly Stub: TritonStubClass
  readonly db: Db
  readonly plans: Plans
  readonly podPatch: PodPatchPolicy
  readonly licences: LicencePolicy
  readonly platform: Platform
  readonly concurrentRollouts: number
  readonly bus: Bus
  readonly registry: Registry
  readonly logger: Logger
}

/** Concurrent reconcile passes; each one mostly waits for the API server. */
const concurrency = 16
/** Changes of a pool's objects arrive in bursts; one pass covers a burst. */
const gatherMs = 50
/** A probe has 2 s and 32 run at once. Unresponsive pods must not delay the first pass of the others. */
const settleMaxMs = 5_000

export function operator(options: OperatorOptions): Service {
  const { release, kube, kubeMetrics, pools, named, catalogue, bus } = options
  const { registry, podPatch, licences, logger } = options
  const leading = leadership({ kube, name: leaseNameOf(release), logger, metrics: kubeMetrics })
  const metrics = createScaleMetrics(registry)
  const events = eventRecorder({ kube, logger, metrics: kubeMetrics })
  const records = poolRecords({
    write: (record, ageSeconds) => recordPool(options.db, record, ageSeconds),
    forget: (gone) => forgetPool(options.db, gone),
    metrics: createRecordMetrics(registry),
    logger,
  })
  const memories = new Map<string, PoolMemory>()
  const reflectors = createReflectors(options)
  const changed = (key: string): void => {
    if (terms.leads()) queue.addAfter(key, gatherMs)
  }
  const world = observeWorld(options, reflectors, changed)
  const turns = rolloutQueue({ max: options.concurrentRollouts, pools: world.pools.all, nowMs: world.clock.nowMs })
  const deps = {
    kube,
    leadership: leading,
    world,
    events,
    metrics,
    records,
    podPatch,
    licences,
    logger,
    memories,
    turns,
  }
  const terms = openTerms(options, reflectors, {
    leading,
    add: (key) => queue.add(key),
    end: () => {
      for (const kept of [memories, turns, records]) kept.clear()
      metrics.hide()
    },
  })
  const namespaceOf = (pool: string): string | undefined => named.get(pool)?.metadata.namespace
  const term = (pool: string): Term | undefined => terms.of(namespaceOf(pool))
  const refusedOf = (pool: string) => terms.refusedOf(namespaceOf(pool), pool)
  // Queue keys of pools whose name is taken are namespace/name; a pool's name has no slash.
  const queue = workQueue({
    name: 'pools',
    reconcile: (key, signal) =>
      key.includes('/')
        ? reportTakenName({ ...deps, pools, named, terms }, key)
        : reconcile({ ...deps, term, refusedOf }, key, signal),
    concurrency,
    logger,
    metrics: kubeMetrics,
  })
  named.onTaken(changed)
  observeStarts(options, reflectors, { reports: leading.isLeader, memories })
  const wake = (modelVersion: string): void => {
    const found = catalogue.served().models.find(({ name }) => name === modelVersion)
    // Rounded up, because a timer may fire a millisecond early and the pass would then find the old demand.
    if (found) queue.addAfter(found.pool, Math.ceil(world.demand.freshInMs()) + 1)
  }
  const nudges = nudgeListener({ bus, leads: terms.leads, wake })
  const leadsHome = (): boolean => terms.of(kube.namespace) !== undefined
  const values = valuesPoolsOf(options, { leads: leadsHome, leadership: leading, events })
  const all: Service[] = [events, records, ...Object.values(reflectors), leading, terms, queue, nudges, ...values]
  return {
    name: 'operator',
    start: async () => {
      for (const service of all) await service.start()
    },
    stop: async () => {
      world.models.close()
      for (const service of all.toReversed()) await service.stop()
    },
  }
}

type Leader = Pick<Parameters<typeof valuesPools>[0], 'leads' | 'leadership' | 'events'>

function valuesPoolsOf({ release, poolsConfigMap, homePools, ...options }: OperatorOptions, leader: Leader): Service[] {
  if (release === undefined || poolsConfigMap === undefined) return []
  const origin = { release: release.name, configMap: poolsConfigMap }
  return [valuesPools({ ...options, ...leader, pools: homePools, origin })]
}

type TermsHooks = { readonly leading: Leadership; readonly add: (key: string) => void; readonly end: () => void }

function openTerms(options: OperatorOptions, reflectors: Reflectors, { leading, add, end }: TermsHooks) {
  const { release, kube, pools, named, logger } = options
  const owns = (pool: TritonPool): boolean => ownsPool(release, pool)
  return namespaceTerms(pools.namespaces, (namespace) =>
    leaderTerm({
      leading,
      logger: logger.child({ namespace }),
      ready: () => untilSynced(options, reflectors, namespace),
      writeTokens: (term, signal) =>
        writeFencingTokens({ kube: kube.in(namespace), leadership: leading, logger, owns }, term, signal),
      begin: () => {
        for (const pool of pools.items()) {
          const { name } = pool.metadata
          if (pool.metadata.namespace === namespace) add(named.get(name) === pool ? name : keyOfObject(pool))
        }
      },
      end,
    }),
  )
}

type Reflectors = ReturnType<typeof createReflectors>

function createReflectors({ watch }: OperatorOptions) {
  return {
    deployments: watch(deployments, managedSelector),
    pods: watch(pods, managedSelector),
    services: watch(services, managedSelector),
    budgets: watch(podDisruptionBudgets, managedSelector),
  }
}

/** Skips pods of other releases and pods of pools whose name is taken. */
function observeStarts(
  { registry, named, source }: OperatorOptions,
  { pods: watched }: Reflectors,
  { reports, memories }: { readonly reports: () => boolean; readonly memories: ReadonlyMap<string, PoolMemory> },
): void {
  const ready = (pool: string, seconds: number): void => rememberStart(memories.get(pool), seconds)
  const phases = startPhaseRecorder({ registry, reports, ready })
  watched.onChange((key, pod) => {
    const pool = pod?.metadata.labels?.[poolLabel]
    const isOurs = pool === undefined || named.get(pool)?.metadata.namespace === pod?.metadata.namespace
    if (isOurs) phases.observe(nameInKey(key), pod)
  })
  source.onChange(() => phases.observeWarm(new Set(source.pods().map(({ name }) => name))))
}

function observeWorld(options: OperatorOptions, reflectors: Reflectors, changed: (pool: string) => void) {
  const { catalogue, source, slotsUsed, Stub, db, plans, logger } = options
  const poolOf = ({ metadata: { namespace, labels } }: KubeObject): string | undefined =>
    labels?.[poolLabel] === undefined ? undefined : objectKey(namespace, labels[poolLabel])
  const ofPoolChanged = (key: string): void => changed(nameInKey(key))
  const live = <T extends KubeObject>(of: NamespacedReflector<T>) => liveIndex(of, poolOf, ofPoolChanged)
  const pools = liveIndex(options.named, ({ metadata }) => metadata.name, changed)
  return {
    pools: fitPools(pools, options),
    deployments: live(reflectors.deployments),
    pods: live(reflectors.pods),
    services: live(reflectors.services),
    budgets: live(reflectors.budgets),
    served: catalogue.served,
    demand: demandReader({ read: () => readDemand(db, { plans, pools: catalogue.asked() }), logger }),
    source,
    slotsUsed,
    models: modelIndex({ Stub, logger, changed }),
    clock: systemClock,
  }
}

async function untilSynced(
  { pools, slices, source }: OperatorOptions,
  reflectors: Reflectors,
  namespace: string,
): Promise<void> {
  // An older pool of the same name may be in any namespace.
  await pools.known()
  await Promise.all([pools, slices, ...Object.values(reflectors)].map((one) => one.synced(namespace)))
  // Before the first probes every revision would appear to have no usable pod.
  await settledWithin(source.settled(), settleMaxMs)
}
