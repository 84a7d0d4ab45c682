// A copy in memory of the objects of one resource, kept by list and watch. It never ends by itself: every error leads
// back to a watch from where the last one was, or to a new list when that is not possible (watch/reflector-state.ts).
// What it holds may be late by the length of an outage, and is never wrong for good: every few minutes a list is
// compared with it, and what the watch had missed is counted as drift and mended.
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { repeat } from '@matte/core/runtime/loop'
import { type Deferred, deferred, pause, type Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { jittered } from './backoff.ts'
import type { KubeClient, Resource } from './client.ts'
import type { ClusterMetrics } from './cluster-metrics.ts'
import { listAll } from './list-all.ts'
import { createListeners } from './listeners.ts'
import type { KubeObject } from './objects.ts'
import {
  afterEvent,
  afterFailedList,
  afterList,
  afterWatch,
  pauseMs,
  type ReflectorState,
  startListing,
  type Watching,
} from './watch/reflector-state.ts'
import { createStore, type ObjectStore } from './watch/store.ts'
import type { Ending } from './watch/watch-ending.ts'
import { type ObjectEvent, type WatchSession, watchOnce } from './watch/watch-once.ts'

export type Reflector<T extends KubeObject> = Service & {
  get(name: string): T | undefined
  /** In no order; the same array as long as nothing changes. Neither it nor its objects may be changed. */
  items(): readonly T[]
  /** Resolves after the first complete list. @throws Error when stopped before. */
  synced(): Promise<void>
  /** Drops an object of which the API server says that it is gone, unless the copy has another one by that name. */
  forget(object: T): void
  /** Called after each change; the object is undefined when it is gone. What it throws is logged. */
  onChange(listener: (name: string, object: T | undefined) => void): void
}

export type ReflectorOptions<T extends KubeObject> = {
  readonly kube: KubeClient
  readonly resource: Resource<T>
  readonly labelSelector?: string
  readonly logger: Logger
  readonly metrics: ClusterMetrics
  readonly clock?: Clock
  /** A watch that is silent for so long is cut. */
  readonly idleMs?: number
  /** Pause between two comparing lists. */
  readonly relistEveryMs?: number
  /** How long what a comparing list knows may be under way in the watch, before it counts as drift. */
  readonly settleMs?: number
  readonly pageSize?: number
  /** Called when the API server answers a list or a watch, and with the error when it does not. */
  readonly onAnswer?: (error?: unknown) => void
}

/**
 * The API server sends a bookmark every 60 s (60.1 to 60.6 s were measured), so that even a quiet watch of a quiet
 * resource shows a sign of life once a minute. Half as much again leaves room for a busy server. Where bookmarks do not
 * come, the cost is a needless watch request every 90 s, and every other time a list.
 */
const defaultIdleMs = 90_000
const defaultRelistEveryMs = 600_000
/** Events reach us within milliseconds; the watch cache of a busy API server may be seconds behind its own lists. */
const defaultSettleMs = 5_000

/** What the two loops share: one keeps the copy, the other compares it. */
type Reflection<T extends KubeObject> = ReflectorOptions<T> & {
  readonly clock: Clock
  readonly store: ObjectStore<T>
  /** True after the first list, false when there is none before the stop. */
  readonly first: Deferred<boolean>
  state: ReflectorState
  session: WatchSession | undefined
}

export function reflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
  const { resource, relistEveryMs = defaultRelistEveryMs, clock = systemClock } = options
  const logger = options.logger.child({ resource: resource.plural, namespace: options.kube.namespace })
  const first = deferred<boolean>()
  const listeners = createListeners<[name: string, object: T | undefined]>(logger)
  const store = createStore<T>(listeners.notify)
  const own: Reflection<T> = { ...options, logger, clock, store, first, state: startListing, session: undefined }
  const name = `reflector-${resource.plural}`
  const following = repeat({ name, pass: (signal) => listAndWatch(own, signal) })
  const comparing = repeat({
    name,
    firstAfterMs: jittered(relistEveryMs),
    pass: async (signal) => {
      await compare(own, signal).catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error }, 'comparing failed')
      })
      return jittered(relistEveryMs)
    },
  })
  return {
    name,
    start: () => {
      void following.start()
      void comparing.start()
    },
    stop: async () => {
      first.resolve(false)
      await Promise.all([following.stop(), comparing.stop()])
    },
    get: store.get,
    items: store.items,
    forget: ({ metadata: { name, uid } }) => {
      if (store.get(name)?.metadata.uid !== uid) return
      options.metrics.drift.inc({ resource: resource.plural })
      logger.error({ object: name }, 'the watch had missed that an object is gone')
      store.remove(name)
    },
    synced: async () => {
      if (!(await first.promise)) {
        throw new Error(`the reflector of ${resource.plural} was stopped before its first list`)
      }
    },
    onChange: listeners.add,
  }
}

/** Lists if need be, then watches until that ends; resolves with the pause before the next time. */
async function listAndWatch<T extends KubeObject>(own: Reflection<T>, signal: AbortSignal): Promise<number> {
  let error: unknown
  try {
    const { resourceVersion } = own.state.state === 'watching' ? own.state : await list(own, signal)
    const begun = own.clock.monotonicMs()
    const ending = await watch(own, resourceVersion, signal)
    const livedMs = own.clock.monotonicMs() - begun
    if (!signal.aborted) reportEnding(own, ending, livedMs)
    own.state = afterWatch(own.state, ending, livedMs)
    if (ending.error !== undefined && !signal.aborted) own.onAnswer?.(ending.error)
    error = ending.error
  } catch (failure) {
    if (!signal.aborted) {
      own.logger.warn({ err: failure }, 'listing failed')
      own.onAnswer?.(failure)
    }
    own.state = afterFailedList(own.state)
    error = failure
  }
  return pauseMs(own.state, error)
}

async function list<T extends KubeObject>(own: Reflection<T>, signal: AbortSignal): Promise<Watching> {
  const { kube, resource, labelSelector, pageSize } = own
  const { items, resourceVersion } = await listAll(kube, resource, { labelSelector, pageSize, signal })
  own.store.replace(items)
  own.first.resolve(true)
  own.onAnswer?.()
  const watching = afterList(own.state, resourceVersion)
  own.state = watching
  return watching
}

async function watch<T extends KubeObject>(
  own: Reflection<T>,
  resourceVersion: string,
  signal: AbortSignal,
): Promise<Ending> {
  const onData = (session: WatchSession): void => {
    if (own.session !== session) own.onAnswer?.()
    own.session = session
  }
  const onEvent = ({ type, object }: ObjectEvent<T>): void => {
    if (type === 'DELETED') own.store.remove(object.metadata.name)
    else if (type !== 'BOOKMARK') own.store.set(object)
    own.state = afterEvent(own.state, object.metadata.resourceVersion)
  }
  const { idleMs = defaultIdleMs } = own
  const ending = await watchOnce({ ...own, resourceVersion, idleMs, onData, onEvent }, signal)
  own.session = undefined
  return ending
}

function reportEnding<T extends KubeObject>(own: Reflection<T>, ending: Ending, livedMs: number): void {
  const { reason, relist, error } = ending
  own.metrics.watchRestarts.inc({ resource: own.resource.plural, reason })
  const fields = { reason, relist, lived_ms: Math.round(livedMs), ...(error !== undefined && { err: error }) }
  if (reason === 'ended') own.logger.debug(fields, 'watch ended')
  else own.logger.warn(fields, 'watch ended')
}

/**
 * Compares with a list. What an event touched since the list was asked for is on its way and no drift; and when the
 * watch was begun again meanwhile, all may be, so that this comparison says nothing.
 */
async function compare<T extends KubeObject>(own: Reflection<T>, signal: AbortSignal): Promise<void> {
  const { kube, session, metrics, resource, labelSelector, pageSize, logger, settleMs = defaultSettleMs } = own
  if (session === undefined) return
  const touched = new Set<string>()
  session.touched = touched
  const { items } = await listAll(kube, resource, { labelSelector, pageSize, signal })
  await pause(settleMs, signal)
  if (own.session !== session) return
  const drifted = own.store.differences(items).filter((name) => !touched.has(name))
  if (drifted.length === 0) return
  metrics.drift.inc({ resource: resource.plural }, drifted.length)
  logger.error({ count: drifted.length, objects: drifted.slice(0, 5) }, 'the watch had missed changes')
  session.end({ reason: 'drift', relist: true })
}
