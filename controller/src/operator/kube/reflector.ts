// In-memory copy of the objects of one resource, kept by list and watch. Every error leads to a new watch from the last
// version, or to a new list (reflector-state.ts). The copy may be stale during an outage. Every few minutes a list is
// compared with it; missed changes are counted as drift and repaired.
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { repeat } from '@matte/core/runtime/loop'
import { type Deferred, deferred, pause, type Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { jittered } from './backoff.ts'
import { type KubeClient, listAll, type Resource, type WatchEvent } from './client.ts'
import { refusal } from './http/kube-error.ts'
import type { ClusterMetrics } from './kube-metrics.ts'
import { createListeners } from './listeners.ts'
import { createStore, type ObjectStore } from './object-store.ts'
import type { KubeObject } from './objects.ts'
import {
  afterEvent,
  afterFailedList,
  afterList,
  afterWatch,
  type Ending,
  endingOf,
  pauseMs,
  type ReflectorState,
  startListing,
  type Watching,
} from './reflector-state.ts'

export type Reflector<T extends KubeObject> = Service & {
  get(name: string): T | undefined
  /** Unordered; the same array until an object changes. Callers must not modify it or its objects. */
  items(): readonly T[]
  /** Resolves after the first complete list. @throws Error if stopped before */
  synced(): Promise<void>
  /** Removes an object that the API server reports as gone, unless the copy has a newer one of that name. */
  forget(object: T): void
  /** Called after each change; the object is undefined when deleted. Exceptions are logged. */
  onChange(listener: (name: string, object: T | undefined) => void): void
}

export type ReflectorOptions<T extends KubeObject> = {
  readonly kube: KubeClient
  readonly resource: Resource<T>
  readonly labelSelector?: string
  readonly logger: Logger
  readonly metrics: ClusterMetrics
  readonly clock?: Clock
  /** A watch without data for this long is cut. */
  readonly idleMs?: number
  readonly relistEveryMs?: number
  /** Grace for events in flight, before a difference counts as drift. */
  readonly settleMs?: number
  readonly pageSize?: number
  readonly onAnswer?: (error?: unknown) => void
}

/** 1.5 times the API server's bookmark interval, so a quiet watch still shows activity. */
const defaultIdleMs = 90_000
const defaultRelistEveryMs = 600_000
/** The watch cache of a busy API server may lag its lists by seconds. */
const defaultSettleMs = 5_000

type Reflection<T extends KubeObject> = ReflectorOptions<T> & {
  readonly clock: Clock
  readonly store: ObjectStore<T>
  /** True after the first list, false if stopped before. */
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
      logger.error({ object: name }, 'the watch missed the deletion of an object')
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

/** Lists if needed, then watches until the watch ends. Resolves with the pause before the next round. */
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

/** Compares the copy with a list. Objects with an event since the list began are not drift. */
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
  logger.error({ count: drifted.length, objects: drifted.slice(0, 5) }, 'the watch missed changes')
  session.end({ reason: 'drift', relist: true })
}

export type WatchSession = {
  /** Names with events since a comparison began; undefined without one. */
  touched: Set<string> | undefined
  end(ending: Ending): void
}

export type ObjectEvent<T> = Exclude<WatchEvent<T>, { type: 'ERROR' }>

type WatchOnceOptions<T extends KubeObject> = {
  readonly kube: KubeClient
  readonly resource: Resource<T>
  readonly labelSelector?: string
  readonly resourceVersion: string
  readonly idleMs: number
  readonly onData: (session: WatchSession) => void
  readonly onEvent: (event: ObjectEvent<T>) => void
}

/** Random between 240 and 300 s, so watches of many processes do not end together. */
const watchSeconds = (): number => 240 + Math.floor(Math.random() * 61)

/** Watches until the watch ends for any reason; never rejects. */
export async function watchOnce<T extends KubeObject>(
  { kube, resource, labelSelector, resourceVersion, idleMs, onData, onEvent }: WatchOnceOptions<T>,
  signal: AbortSignal,
): Promise<Ending> {
  const cut = new AbortController()
  let ending: Ending | undefined
  const end = (why: Ending): void => {
    ending ??= why
    cut.abort()
  }
  const watchdog = setTimeout(() => end({ reason: 'idle', relist: false }), idleMs)
  const session: WatchSession = { touched: undefined, end }
  try {
    const events = kube.watch(resource, {
      resourceVersion,
      labelSelector,
      timeoutSeconds: watchSeconds(),
      signal: AbortSignal.any([signal, cut.signal]),
      onData: () => {
        onData(session)
        watchdog.refresh()
      },
    })
    for await (const event of events) {
      if (event.type === 'ERROR') return endingOf(refusal(`watch ${resource.plural}`, event.object))
      session.touched?.add(event.object.metadata.name)
      onEvent(event)
    }
    return { reason: 'ended', relist: false }
  } catch (error) {
    return ending ?? endingOf(error)
  } finally {
    clearTimeout(watchdog)
  }
}
