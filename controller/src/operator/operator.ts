// The leader's work. Every replica keeps copies of the objects, so a new leader starts with what it knows. The leader
// writes its fencing tokens, then reconciles each pool once a second, and sooner when something changes. Without an API
// server no replica leads and the pods stay as they are; the workers go on with their tasks.
import type { Bus } from '@matte/core/bus/bus'
import type { Db } from '@matte/core/db/database'
import type { LicencePolicy } from '@matte/core/model/licence-policy'
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
import type { Term } from './kube/fencing-token.ts'
import type { KubeMetrics } from './kube/kube-metrics.ts'
import { type Leadership, leadership } from './kube/leadership.ts'
import type { NamespacedReflector } from './kube/namespaced-reflector.ts'
import { keyOfObject, nameInKey, objectKey } from './kube/object-key.ts'
import type { EndpointSlice, KubeObject } from './kube/objects.ts'
import type { Reflector } from './kube/reflector.ts'
import { workQueue } from './kube/work-queue.ts'
import { leaderTerm } from './leader-term.ts'
import { namespaceTerms } from './namespace-terms.ts'
import { managedSelector, poolLabel } from './pool/labels.ts'
import type { PoolCatalogue } from './pool/pool-catalogue.ts'
import type { PoolsByName } from './pool/pool-names.ts'
import { leaseNameOf, ownsPool, type Release } from './pool/release.ts'
import type { PodPatchPolicy } from './pool/spec/pod-patch.ts'
import type { TritonPool } from './pool/triton-pool.ts'
import { nudgeListener } from './reconcile/nudge-listener.ts'
import { demandReader } from './reconcile/observe/demand-reader.ts'
import { fitPools } from './reconcile/observe/fitted-pools.ts'
import { liveIndex } from './reconcile/observe/live-index.ts'
import { modelIndex } from './reconcile/observe/model-index.ts'
import { startPhaseRecorder } from './reconcile/observe/start-phases.ts'
import { type PoolMemory, rememberStart } from './reconcile/pool-memory.ts'
import { reconcile } from './reconcile/reconcile.ts'
import { createScaleMetrics } from './reconcile/scale-metrics.ts'
import { rolloutTurns } from './rollout/turns.ts'
import type { Platform } from './specs/platform.ts'
import { reportTakenName } from './taken-names.ts'
import { valuesPools } from './values-pools/values-pools.ts'

export type OperatorOptions = {
  readonly kube: KubeClient
  readonly kubeMetrics: KubeMetrics
  /** Started and stopped by operator-mode.ts, as `slices` and `source` are. */
  readonly pools: NamespacedReflector<TritonPool>
  readonly watch: Watch
  /** The operated pools. */
  readonly named: PoolsByName
  /** Pools of the release's namespace, those of other releases too. */
  readonly homePools: Reflector<TritonPool>
  /** Undefined: the pools of every release are this one's. */
  readonly release?: Release | undefined
  /** ConfigMap with the pools of the chart's values; undefined: the values have none. */
  readonly poolsConfigMap?: string | undefined
  readonly catalogue: PoolCatalogue
  /** Where `source` reads pods from. */
  readonly slices: Pick<NamespacedReflector<EndpointSlice>, 'synced'>
  readonly source: PodSource
  /** Requests that all workers have in flight in the pod at an address. */
  readonly slotsUsed: (address: string) => number
  readonly Stub: TritonStubClass
  readonly db: Db
  readonly plans: Plans
  readonly podPatch: PodPatchPolicy
  readonly licences: LicencePolicy
  readonly platform: Platform
  /** Pools that may roll out at once. */
  readonly concurrentRollouts: number
  readonly bus: Bus
  readonly registry: Registry
  readonly logger: Logger
}

/** Reconciles at once: each waits for the API server most of the time. */
const concurrency = 16
/** Changes of a pool's objects come in bursts; one pass is enough for a burst. */
const gatherMs = 50
/** Probes have 2 s, and 32 run at once: pods that hang must not keep everybody from being led. */
const settleMaxMs = 5_000

export function operator(options: OperatorOptions): Service {
  const { release, kube, kubeMetrics, pools, named, catalogue, source, bus } = options
  const { registry, podPatch, licences, logger } = options
  const leading = leadership({ kube, name: leaseNameOf(release), logger, metrics: kubeMetrics })
  const metrics = createScaleMetrics(registry)
  const events = eventRecorder({ kube, logger, metrics: kubeMetrics })
  const memories = new Map<string, PoolMemory>()
  const reflectors = createReflectors(options)
  const changed = (pool: string): void => {
    if (terms.leads()) queue.addAfter(pool, gatherMs)
  }
  const world = observeWorld(options, reflectors, changed)
  const turns = rolloutTurns({ max: options.concurrentRollouts, pools: world.pools.all, nowMs: world.clock.nowMs })
  const deps = { kube, leadership: leading, world, events, metrics, podPatch, licences, logger, memories, turns }
  const terms = openTerms(options, reflectors, {
    leading,
    add: (key) => queue.add(key),
    end: () => {
      for (const kept of [memories, turns]) kept.clear()
      metrics.hide()
    },
  })
  const namespaceOf = (pool: string): string | undefined => named.get(pool)?.metadata.namespace
  const term = (pool: string): Term | undefined => terms.of(namespaceOf(pool))
  const refusedOf = (pool: string) => terms.refusedOf(namespaceOf(pool), pool)
  // A pool that is not operated is in the queue by namespace and name, and no pool's name has a slash.
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
  named.onTaken((key) => {
    if (terms.leads()) queue.addAfter(key, gatherMs)
  })
  const phases = startPhaseRecorder({
    registry,
    reports: leading.isLeader,
    ready: (pool, seconds) => rememberStart(memories.get(pool), seconds),
  })
  observeStarts(phases, { pods: reflectors.pods, named, source })
  const wake = (modelVersion: string): void => {
    const found = catalogue.served().models.find(({ name }) => name === modelVersion)
    // A timer may ring a millisecond early, and a pass before its time would find the old demand.
    if (found) queue.addAfter(found.pool, Math.ceil(world.demand.freshInMs()) + 1)
  }
  const nudges = nudgeListener({ bus, leads: terms.leads, wake })
  const leadsHome = (): boolean => terms.of(kube.namespace) !== undefined
  const values = valuesPoolsOf(options, { leads: leadsHome, leadership: leading, events })
  const all: Service[] = [events, ...Object.values(reflectors), leading, terms, queue, nudges, ...values]
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

/** A pod of another release is that operator's to measure, and a pool whose name is taken has no pods. */
function observeStarts(
  phases: ReturnType<typeof startPhaseRecorder>,
  { pods: watched, named, source }: Pick<Reflectors, 'pods'> & Pick<OperatorOptions, 'named' | 'source'>,
): void {
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
  // A leader that has not asked the pods yet would take every revision for one without a usable pod.
  await settledWithin(source.settled(), settleMaxMs)
}
