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
import { writeFencingTokens } from './fencing-tokens.ts'
import { deployments, type KubeClient, podDisruptionBudgets, pods, type Resource, services } from './kube/client.ts'
import { eventRecorder } from './kube/events.ts'
import type { KubeMetrics } from './kube/kube-metrics.ts'
import { leadership } from './kube/leadership.ts'
import type { EndpointSlice, KubeObject } from './kube/objects.ts'
import { type Reflector, reflector } from './kube/reflector.ts'
import { workQueue } from './kube/work-queue.ts'
import { leaderTerm } from './leader-term.ts'
import { managedSelector, poolLabel } from './pool/labels.ts'
import type { PoolCatalogue } from './pool/pool-catalogue.ts'
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
import { valuesPools } from './values-pools/values-pools.ts'

export type OperatorOptions = {
  readonly kube: KubeClient
  readonly kubeMetrics: KubeMetrics
  /** Started and stopped by operator-mode.ts, as `slices` and `source` are. */
  readonly pools: Reflector<TritonPool>
  /** Pools of other releases too. */
  readonly allPools: Reflector<TritonPool>
  /** Undefined: the pools of every release are this one's. */
  readonly release?: Release | undefined
  /** ConfigMap with the pools of the chart's values; undefined: the values have none. */
  readonly poolsConfigMap?: string | undefined
  readonly catalogue: PoolCatalogue
  /** Where `source` reads pods from. */
  readonly slices: Pick<Reflector<EndpointSlice>, 'synced'>
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
  const { release, kube, kubeMetrics, pools, catalogue, source, bus, registry, podPatch, licences, logger } = options
  const leading = leadership({ kube, name: leaseNameOf(release), logger, metrics: kubeMetrics })
  const metrics = createScaleMetrics(registry)
  const events = eventRecorder({ kube, logger, metrics: kubeMetrics })
  const memories = new Map<string, PoolMemory>()
  const reflectors = createReflectors(options)
  const owns = (pool: TritonPool): boolean => ownsPool(release, pool)
  const leads = (): boolean => term.current() !== undefined
  const changed = (pool: string): void => {
    if (leads()) queue.addAfter(pool, gatherMs)
  }
  const world = observeWorld(options, reflectors, changed)
  const turns = rolloutTurns({ max: options.concurrentRollouts, pools: world.pools.all, nowMs: world.clock.nowMs })
  const deps = { kube, leadership: leading, world, events, metrics, podPatch, licences, logger, memories, turns }
  const queue = workQueue({
    name: 'pools',
    reconcile: (pool, signal) => reconcile({ ...deps, term: term.current, refusedOf: term.refusedOf }, pool, signal),
    concurrency,
    logger,
    metrics: kubeMetrics,
  })
  const term = leaderTerm({
    leading,
    logger,
    ready: () => untilSynced(options, reflectors),
    writeTokens: (ofTerm, signal) => writeFencingTokens({ kube, leadership: leading, logger, owns }, ofTerm, signal),
    begin: () => {
      for (const { metadata } of pools.items()) queue.add(metadata.name)
    },
    end: () => {
      for (const kept of [memories, turns]) kept.clear()
      metrics.hide()
    },
  })
  const phases = startPhaseRecorder({
    registry,
    reports: leading.isLeader,
    ready: (pool, seconds) => rememberStart(memories.get(pool), seconds),
  })
  observeStarts(phases, { pods: reflectors.pods, pools, source })
  const wake = (modelVersion: string): void => {
    const found = catalogue.served().models.find(({ name }) => name === modelVersion)
    // A timer may ring a millisecond early, and a pass before its time would find the old demand.
    if (found) queue.addAfter(found.pool, Math.ceil(world.demand.freshInMs()) + 1)
  }
  const nudges = nudgeListener({ bus, leads, wake })
  const values = valuesPoolsOf(options, { leads, leadership: leading, events })
  const all: Service[] = [events, ...Object.values(reflectors), leading, term, queue, nudges, ...values]
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

function valuesPoolsOf({ release, poolsConfigMap, allPools, ...options }: OperatorOptions, leader: Leader): Service[] {
  if (release === undefined || poolsConfigMap === undefined) return []
  const origin = { release: release.name, configMap: poolsConfigMap }
  return [valuesPools({ ...options, ...leader, pools: allPools, origin })]
}

type Reflectors = ReturnType<typeof createReflectors>

function createReflectors({ kube, logger, kubeMetrics }: OperatorOptions) {
  const watch = <T extends KubeObject>(resource: Resource<T>): Reflector<T> =>
    reflector({ kube, resource, labelSelector: managedSelector, logger, metrics: kubeMetrics })
  return {
    deployments: watch(deployments),
    pods: watch(pods),
    services: watch(services),
    budgets: watch(podDisruptionBudgets),
  }
}

/** A pod of another release is that operator's to measure. */
function observeStarts(
  phases: ReturnType<typeof startPhaseRecorder>,
  { pods: watched, pools, source }: Pick<Reflectors, 'pods'> & Pick<OperatorOptions, 'pools' | 'source'>,
): void {
  watched.onChange((name, pod) => {
    const pool = pod?.metadata.labels?.[poolLabel]
    if (pool === undefined || pools.get(pool) !== undefined) phases.observe(name, pod)
  })
  source.onChange(() => phases.observeWarm(new Set(source.pods().map(({ name }) => name))))
}

function observeWorld(options: OperatorOptions, reflectors: Reflectors, changed: (pool: string) => void) {
  const { catalogue, source, slotsUsed, Stub, db, plans, logger } = options
  const poolOf = ({ metadata }: KubeObject): string | undefined => metadata.labels?.[poolLabel]
  const live = <T extends KubeObject>(of: Reflector<T>) => liveIndex(of, poolOf, changed)
  const pools = liveIndex(options.pools, ({ metadata }) => metadata.name, changed)
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

async function untilSynced({ pools, slices, source }: OperatorOptions, reflectors: Reflectors): Promise<void> {
  await Promise.all([pools, slices, ...Object.values(reflectors)].map((one) => one.synced()))
  // A leader that has not asked the pods yet would take every revision for one without a usable pod.
  await settledWithin(source.settled(), settleMaxMs)
}
