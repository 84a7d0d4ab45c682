// A copy in memory of the objects of one resource, kept by list and watch. It never ends by itself: every fault leads
// back to a watch from where the last one was, or to a new list when that is not possible. What it holds may be late by
// the length of a fault (see `lastSeenMs`), and is never wrong for good: every few minutes a list is compared with it,
// and what the watch had not told is counted as drift and mended.
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { settledOrAborted } from '@matte/core/runtime/race'
import { pause, type Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { backoffMs, jittered } from './backoff.ts'
import type { KubeClient, Resource } from './client.ts'
import { KubeError, refusal } from './http/kube-error.ts'
import type { KubeMetrics } from './kube-metrics.ts'
import type { KubeObject } from './objects.ts'
import { listAll } from './watch/list-all.ts'
import { createStore } from './watch/store.ts'
import { type Ending, endingOf } from './watch/watch-ending.ts'

export type Reflector<T extends KubeObject> = Service & {
  get(name: string): T | undefined
  /** In no order; the same array as long as nothing changes. Neither it nor its objects may be changed. */
  items(): readonly T[]
  /** Resolves after the first complete list. @throws Error when stopped before. */
  synced(): Promise<void>
  /** Called after each change; the object is undefined when it is gone. What it throws is logged. */
  onChange(listener: (name: string, object: T | undefined) => void): void
  /** Milliseconds since the API server last sent anything for the watch, up to a minute when all is quiet. */
  lastSeenMs(): number
}

export type ReflectorOptions<T extends KubeObject> = {
  readonly kube: KubeClient
  readonly resource: Resource<T>
  readonly labelSelector?: string
  readonly logger: Logger
  readonly metrics: KubeMetrics
  readonly clock?: Clock
  /** A watch that is silent for so long is cut. */
  readonly idleMs?: number
  /** Pause between two comparing lists. */
  readonly relistEveryMs?: number
  /** How long what a comparing list knows may be under way in the watch, before it counts as drift. */
  readonly settleMs?: number
  readonly pageSize?: number
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
/** As kubectl and the controllers have it: some 3 MB of pods a page. */
const defaultPageSize = 500

/** Between 240 and 300 s, at random: the watches of many processes shall not all end together. */
const watchSeconds = (): number => 240 + Math.floor(Math.random() * 61)

/** A watch that lasted so long was a good one: the next fault is a new one and its first try comes at once. */
const stableMs = 5_000
/** At most ten seconds: an API server that is back after a restart shall not be waited for. */
const pauses = { baseMs: 200, maxMs: 10_000 }

/** A watch that the server has begun to answer. */
type Session = { end(ending: Ending): void }

export function reflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector<T> {
  const { kube, resource, labelSelector, metrics, clock = systemClock } = options
  const { idleMs = defaultIdleMs, settleMs = defaultSettleMs, relistEveryMs = defaultRelistEveryMs } = options
  const logger = options.logger.child({ resource: resource.plural })
  const stopping = new AbortController()
  const { signal } = stopping
  const first = Promise.withResolvers<void>()
  const listeners: ((name: string, object: T | undefined) => void)[] = []
  /** From where the next watch begins; undefined: list first. */
  let position: string | undefined
  let session: Session | undefined
  /** Names that events were about since a comparison began; undefined when none is under way. */
  let touched: Set<string> | undefined
  let silences = 0
  let seenAt = Number.NEGATIVE_INFINITY
  let running: Promise<unknown> | undefined

  const store = createStore<T>((name, object) => {
    for (const listener of listeners) {
      try {
        listener(name, object)
      } catch (error) {
        logger.error({ err: error, object: name }, 'a listener of the reflector failed')
      }
    }
  })
  const sawLife = (): void => {
    seenAt = clock.monotonicMs()
  }
  const snapshot = () =>
    listAll(kube, resource, { labelSelector, pageSize: options.pageSize ?? defaultPageSize, signal })

  async function relist(): Promise<string> {
    const { items, resourceVersion } = await snapshot()
    sawLife()
    store.replace(items)
    first.resolve()
    return resourceVersion
  }

  async function watch(from: string): Promise<Ending> {
    const cut = new AbortController()
    let ending: Ending | undefined
    const end = (why: Ending): void => {
      ending ??= why
      cut.abort()
    }
    const stopped = (): void => cut.abort()
    signal.addEventListener('abort', stopped, { once: true })
    if (signal.aborted) stopped()
    const watchdog = setTimeout(() => end({ reason: 'idle', relist: false }), idleMs)
    const own: Session = { end }
    const onData = (): void => {
      session = own
      sawLife()
      watchdog.refresh()
    }
    try {
      const selector = labelSelector === undefined ? {} : { labelSelector }
      const asked = { resourceVersion: from, timeoutSeconds: watchSeconds(), signal: cut.signal, onData, ...selector }
      for await (const event of kube.watch(resource, asked)) {
        if (event.type === 'ERROR') return endingOf(refusal(`watch ${resource.plural}`, event.object))
        const { name, resourceVersion } = event.object.metadata
        if (event.type === 'DELETED') store.remove(name)
        else if (event.type !== 'BOOKMARK') store.set(event.object)
        touched?.add(name)
        position = resourceVersion ?? position
      }
      return { reason: 'ended', relist: false }
    } catch (error) {
      return ending ?? endingOf(error)
    } finally {
      session = undefined
      clearTimeout(watchdog)
      signal.removeEventListener('abort', stopped)
    }
  }

  /**
   * A watch from a version that is still to come is silent, not refused: so it is after the API server's store was set
   * back to an earlier state. Silence right after silence therefore is not met with the same version again.
   */
  function isStuck({ reason }: Ending): boolean {
    silences = reason === 'idle' ? silences + 1 : 0
    return silences > 1
  }

  /** Lists if need be, then watches until that ends; the answer is how many faults in a row there have been. */
  async function round(failures: number): Promise<{ failures: number; pauseMs: number }> {
    let livedMs = 0
    let ending: Ending
    try {
      position ??= await relist()
      const begun = clock.monotonicMs()
      ending = await watch(position)
      livedMs = clock.monotonicMs() - begun
      if (!signal.aborted) reportEnding(ending, livedMs)
      if (isStuck(ending) || ending.relist) position = undefined
    } catch (error) {
      ending = { reason: 'cut', relist: false, error }
      if (!signal.aborted) logger.warn({ err: error }, 'listing failed')
    }
    const counted = livedMs >= stableMs ? 0 : failures + 1
    const wished = ending.error instanceof KubeError ? (ending.error.retryAfterMs ?? 0) : 0
    return { failures: counted, pauseMs: Math.max(wished, backoffMs(counted, pauses)) }
  }

  function reportEnding({ reason, relist: listing, error }: Ending, livedMs: number): void {
    metrics.watchRestarts.inc({ resource: resource.plural, reason })
    const fields = {
      reason,
      relist: listing,
      lived_ms: Math.round(livedMs),
      ...(error !== undefined && { err: error }),
    }
    if (reason === 'ended') logger.debug(fields, 'watch ended')
    else logger.warn(fields, 'watch ended')
  }

  async function forever(): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      const next = await round(failures)
      failures = next.failures
      await pause(next.pauseMs, signal)
    }
  }

  /**
   * Compares with a list. What an event touched since the list was asked for is on its way and no drift; and when the
   * watch was begun again meanwhile, all may be, so that this comparison says nothing.
   */
  async function compare(): Promise<void> {
    const judged = session
    if (judged === undefined) return
    const moved = new Set<string>()
    touched = moved
    const { items } = await snapshot()
    await pause(settleMs, signal)
    if (session !== judged) return
    const drifted = store.differences(items).filter((name) => !moved.has(name))
    if (drifted.length === 0) return
    metrics.drift.inc({ resource: resource.plural }, drifted.length)
    logger.error({ count: drifted.length, objects: drifted.slice(0, 5) }, 'the watch had missed changes')
    judged.end({ reason: 'drift', relist: true })
  }

  async function compareForever(): Promise<void> {
    while (!signal.aborted) {
      await pause(jittered(relistEveryMs), signal)
      if (signal.aborted) return
      await compare().catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error }, 'comparing failed')
      })
    }
  }

  return {
    name: `reflector-${resource.plural}`,
    start: () => {
      running ??= Promise.all([forever(), compareForever()])
    },
    stop: async () => {
      stopping.abort()
      await running
    },
    get: store.get,
    items: store.items,
    synced: async () => {
      let done = false
      const listed = first.promise.then(() => {
        done = true
      })
      await settledOrAborted(listed, signal)
      if (!done) throw new Error(`the reflector of ${resource.plural} was stopped before its first list`)
    },
    onChange: (listener) => {
      listeners.push(listener)
    },
    lastSeenMs: () => clock.monotonicMs() - seenAt,
  }
}
