// The controller as an operator: what only the one that leads does. Every replica keeps its copies of what there is, so
// that a new leader begins with what it knows; the leader puts up its fence and then looks at each pool once a second,
// and sooner when something tells it to. Without an API server nobody leads and the pods go on as they are; images are
// worked on all the same, since none of that needs this file.
import type { Bus } from '@matte/core/bus/bus'
import type { Db } from '@matte/core/db/database'
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { settledOrAborted, settledWithin } from '@matte/core/runtime/race'
import { pause, type Service } from '@matte/core/runtime/service'
import { readDemand } from '@matte/core/scale/demand-queries'
import type { Plans } from '@matte/core/workspace/plan'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { PodSource } from '../worker/routing/pod-source.ts'
import type { TritonStubClass } from '../worker/triton/triton-protocol.ts'
import { type Backoff, backoffMs } from './kube/backoff.ts'
import { deployments, type KubeClient, podDisruptionBudgets, pods, type Resource, services } from './kube/client.ts'
import { eventRecorder } from './kube/events.ts'
import type { KubeMetrics } from './kube/kube-metrics.ts'
import type { Term } from './kube/lease/fencing-token.ts'
import { leadership as createLeadership, type Leadership } from './kube/lease/leadership.ts'
import type { EndpointSlice, KubeObject } from './kube/objects.ts'
import { workQueue } from './kube/queue/work-queue.ts'
import { type Reflector, reflector } from './kube/reflector.ts'
import { putUpFence, type Unmarked } from './leader-fence.ts'
import { managedSelector, poolLabel } from './pool/labels.ts'
import type { PoolCatalogue } from './pool/pool-catalogue.ts'
import type { TritonPool } from './pool/triton-pool.ts'
import { nudgeListener } from './reconcile/nudge-listener.ts'
import { demandReader } from './reconcile/observe/demand-reader.ts'
import { liveIndex } from './reconcile/observe/live-index.ts'
import { modelIndex } from './reconcile/observe/model-index.ts'
import { startPhaseRecorder } from './reconcile/observe/start-phases.ts'
import { type PoolMemory, rememberStart } from './reconcile/pool-memory.ts'
import { reconcile } from './reconcile/reconcile.ts'
import { createScaleMetrics } from './reconcile/scale-metrics.ts'

export type OperatorOptions = {
  readonly kube: KubeClient
  readonly kubeMetrics: KubeMetrics
  /** Started and stopped by whoever made it, since routing reads it too. */
  readonly pools: Reflector<TritonPool>
  readonly catalogue: PoolCatalogue
  /** What `source` reads pods from; started and stopped by whoever made it, as `pools` is. */
  readonly slices: Pick<Reflector<EndpointSlice>, 'synced'>
  readonly source: PodSource
  /** Images that this process has in the pod at an address. */
  readonly slotsUsed: (address: string) => number
  readonly Stub: TritonStubClass
  readonly db: Db
  readonly plans: Plans
  readonly bus: Bus
  readonly registry: Registry
  readonly logger: Logger
  readonly clock?: Clock
  /** Tests shorten its times. */
  readonly leadership?: Leadership
}

/** Looks at once: each waits for the API server most of the time. */
const concurrency = 16
/** News of a pool's objects comes in bunches; one look is enough for a bunch. */
const gatherMs = 50
/** Each try reads everything again, so it is not tried for long at that pace. */
const fenceBackoff: Backoff = { baseMs: 500, maxMs: 15_000 }
/** Probes have 2 s, and 32 run at once: pods that hang must not keep everybody from being led. */
const settleMaxMs = 5_000
export const leaseName = 'matte-controller'

export function operator(options: OperatorOptions): Service {
  const { kube, kubeMetrics, pools, catalogue, source, db, plans, bus, registry, logger } = options
  const { clock = systemClock } = options
  const leading = options.leadership ?? createLeadership({ kube, name: leaseName, logger, metrics: kubeMetrics })
  const metrics = createScaleMetrics(registry)
  const events = eventRecorder({ kube, logger, metrics: kubeMetrics })
  const memories = new Map<string, PoolMemory>()
  /** Ours since its fence is up; the same object for as long as it lasts. */
  let fenced: Term | undefined
  /** Pools outside the fence, by name: nothing of theirs is written. */
  let unfenced: ReadonlySet<string> = new Set()

  const watch = <T extends KubeObject>(resource: Resource<T>): Reflector<T> =>
    reflector({ kube, resource, labelSelector: managedSelector, logger, metrics: kubeMetrics })
  const reflectors = {
    deployments: watch(deployments),
    pods: watch(pods),
    services: watch(services),
    budgets: watch(podDisruptionBudgets),
  }
  const poolOf = ({ metadata }: KubeObject): string | undefined => metadata.labels?.[poolLabel]
  const soon = (pool: string): void => {
    if (term() !== undefined) queue.addAfter(pool, gatherMs)
  }
  const live = <T extends KubeObject>(of: Reflector<T>) => liveIndex(of, poolOf, soon)

  const demand = demandReader({ read: () => readDemand(db, { plans, pools: catalogue.asked() }), logger, clock })
  const world = {
    pools: liveIndex(pools, ({ metadata }) => metadata.name, soon),
    deployments: live(reflectors.deployments),
    pods: live(reflectors.pods),
    services: live(reflectors.services),
    budgets: live(reflectors.budgets),
    served: catalogue.served,
    demand,
    source,
    slotsUsed: options.slotsUsed,
    models: modelIndex({ Stub: options.Stub, logger, changed: soon }),
    clock,
  }
  const term = (): Term | undefined => {
    const current = termOf(leading)
    return current?.count === fenced?.count && current?.lease === fenced?.lease ? fenced : undefined
  }
  const termIn = (pool: string): Term | undefined => (unfenced.has(pool) ? undefined : term())
  const deps = { kube, leadership: leading, world, events, metrics, logger, memories, term: termIn }
  const queue = workQueue({
    name: 'pools',
    reconcile: (pool, signal) => reconcile(deps, pool, signal),
    concurrency,
    logger,
    metrics: kubeMetrics,
  })

  const phases = startPhaseRecorder({
    registry,
    reports: leading.isLeader,
    ready: (pool, seconds) => {
      const memory = memories.get(pool)
      if (memory) rememberStart(memory, seconds)
    },
    clock,
  })
  reflectors.pods.onChange(phases.observe)
  source.onChange(() => phases.observeWarm(new Set(source.pods().map(({ name }) => name))))

  const fence = fenceKeeper({
    leading,
    logger,
    ready: async () => {
      await Promise.all([pools, options.slices, ...Object.values(reflectors)].map((one) => one.synced()))
      // A leader that has not asked the pods yet would take every revision for one without a usable pod.
      await settledWithin(source.settled(), settleMaxMs)
    },
    putUp: (ofTerm, signal) => putUpFence({ kube, leadership: leading, logger }, ofTerm, signal),
    begin: (ofTerm, unmarked) => {
      if (fenced !== ofTerm) memories.clear()
      fenced = ofTerm
      unfenced = new Set(unmarked.map(({ pool }) => pool))
      for (const { pool, object, error } of unmarked) {
        const message = `${object} refuses the mark of the leader, so nothing of this pool is changed: ${error.message}`
        const own = pools.get(pool)
        if (own) events.record(own, { type: 'Warning', reason: 'ChangeRefused', message })
      }
      for (const { metadata } of pools.items()) queue.add(metadata.name)
    },
    end: () => {
      fenced = undefined
      unfenced = new Set()
      memories.clear()
      metrics.hide()
    },
  })

  const wake = (modelVersion: string): void => {
    const found = catalogue.served().models.find(({ name }) => name === modelVersion)
    // A timer may ring a millisecond early, and a look before its time would find the old figures.
    if (found) queue.addAfter(found.pool, Math.ceil(demand.freshInMs()) + 1)
  }
  const all: Service[] = [
    events,
    ...Object.values(reflectors),
    leading,
    fence,
    queue,
    nudgeListener({ bus, leads: () => term() !== undefined, wake }),
  ]
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

type FenceOptions = {
  readonly leading: Leadership
  readonly logger: Logger
  /** Resolves when the copies of what there is are complete. */
  readonly ready: () => Promise<void>
  readonly putUp: (term: Term, signal: AbortSignal) => Promise<Unmarked[]>
  /** Once for each time that it is put up in a term; `unmarked` is outside it. */
  readonly begin: (term: Term, unmarked: readonly Unmarked[]) => void
  readonly end: () => void
}

/** The term that we lead in; undefined while we do not. */
function termOf(leading: Leadership): Term | undefined {
  const lease = leading.leaseUid()
  return leading.isLeader() && lease !== undefined ? { count: leading.term(), lease } : undefined
}

/**
 * From the moment that we lead: the fence first, tried until it is up or we lead no more, then everything else. With an
 * object that refuses its mark everything else goes on, and the fence is tried again until nothing is outside it.
 */
function fenceKeeper({ leading, logger, ready, putUp, begin, end }: FenceOptions): Service {
  const stopping = new AbortController()
  let current: AbortController | undefined
  const working = new Set<Promise<void>>()

  async function work(signal: AbortSignal): Promise<void> {
    const term = termOf(leading)
    let told = ''
    for (let tries = 1; term !== undefined && !signal.aborted; tries++) {
      try {
        await settledOrAborted(ready(), signal)
        if (signal.aborted) return
        const unmarked = await putUp(term, signal)
        if (signal.aborted) return
        begin(term, unmarked)
        const objects = unmarked.map(({ object }) => object)
        if (objects.length === 0) return
        const [first] = unmarked
        const fields = { err: first?.error, objects, term }
        if (told !== objects.join()) logger.warn(fields, 'the fence is up, but for objects that refuse their mark')
        told = objects.join()
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error, term }, 'the fence is not up yet')
      }
      await pause(backoffMs(tries, fenceBackoff), signal)
    }
  }

  leading.onChange((leads) => {
    current?.abort()
    if (!leads) return end()
    current = new AbortController()
    const job = work(AbortSignal.any([current.signal, stopping.signal])).finally(() => working.delete(job))
    working.add(job)
  })
  return {
    name: 'leader-fence',
    start: () => undefined,
    stop: async () => {
      stopping.abort()
      await Promise.all(working)
    },
  }
}
