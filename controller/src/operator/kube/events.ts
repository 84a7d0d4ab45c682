// Emits Events for `kubectl describe` and `kubectl get events`, best effort: `record` never throws or waits, and
// failures are counted and dropped. Each object has a rate limit. A repeated Event within ten minutes increments the
// count of the first.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import type { Logger } from 'pino'
import { events, type KubeClient } from './client.ts'
import { KubeError } from './http/kube-error.ts'
import type { EventOutcome, KubeMetrics } from './kube-metrics.ts'
import type { Event, KubeObject } from './objects.ts'

export type Note = {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  /** Sentence for a person; cut at 1,024 bytes. */
  readonly message: string
}

export type EventRecorder = ReturnType<typeof eventRecorder>

export type EventRecorderOptions = {
  readonly kube: KubeClient
  readonly logger: Logger
  readonly metrics: KubeMetrics
  readonly clock?: Clock
}

const queueMax = 200

const timeoutMs = 5_000
/** At a stop, pending Events have this long to be written. */
const lastWordsMs = 2_000

const messageMaxBytes = 1_024

/** A written Event and its count. Kubernetes keeps Events for an hour, so it still exists within the window. */
type Written = { readonly name: string; count: number; at: number }

const sameWithinMs = 600_000
const writtenMax = 1_000

type Pending = { readonly object: KubeObject; readonly note: Note; readonly at: string }

export function eventRecorder(options: EventRecorderOptions) {
  const { kube, logger, metrics, clock = systemClock } = options
  const limit = createEventLimit(clock)
  const waiting: Pending[] = []
  const giveUp = new AbortController()
  const write = eventWriter(kube, clock, giveUp.signal)
  let writing: Promise<void> | undefined
  let stopped = false

  async function writeAll(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined && !giveUp.signal.aborted; next = waiting.shift()) {
      try {
        metrics.events.inc({ outcome: await write(next) })
      } catch (error) {
        metrics.events.inc({ outcome: 'failed' satisfies EventOutcome })
        logger.debug({ err: error, reason: next.note.reason }, 'Event not written')
      }
    }
    writing = undefined
  }

  return {
    name: 'events',
    start: () => undefined,
    stop: async (): Promise<void> => {
      stopped = true
      const timer = setTimeout(() => giveUp.abort(), lastWordsMs)
      await writing
      clearTimeout(timer)
    },
    /** Queues an Event about `object`, or drops it. */
    record: (object: KubeObject, note: Note): void => {
      if (stopped || waiting.length >= queueMax || !limit.take(object.metadata.uid ?? object.metadata.name)) {
        metrics.events.inc({ outcome: 'dropped' satisfies EventOutcome })
        return
      }
      waiting.push({ object, note, at: new Date(clock.nowMs()).toISOString().replace(/\.\d+Z$/, 'Z') })
      writing ??= writeAll()
    },
  }
}

/** Writes an Event, or increments the count of an equal recent one. @throws KubeError */
function eventWriter(kube: KubeClient, clock: Clock, signal: AbortSignal) {
  const call = { timeoutMs, signal }
  const written = new BoundedMap<string, Written>(writtenMax)
  const from = { component: kube.fieldManager, instance: hostname() }

  async function count(home: KubeClient, { name, count: times }: Written, at: string): Promise<boolean> {
    try {
      await home.mergePatch(events, name, { count: times, lastTimestamp: at }, call)
      return true
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return false
      throw error
    }
  }

  return async ({ object, note, at }: Pending): Promise<Extract<EventOutcome, 'created' | 'counted'>> => {
    const { kind, metadata } = object
    // The API server accepts an Event only in the namespace of its object.
    const home = metadata.namespace === undefined ? kube : kube.in(metadata.namespace)
    const key = [kind, metadata.uid ?? metadata.name, note.type, note.reason, note.message].join('\n')
    const before = written.get(key)
    if (before !== undefined && clock.monotonicMs() - before.at < sameWithinMs) {
      before.count += 1
      before.at = clock.monotonicMs()
      if (await count(home, before, at)) return 'counted'
    }
    const name = `${metadata.name.slice(0, 200)}.${randomBytes(8).toString('hex')}`
    await home.create(events, buildEvent(object, note, { ...from, namespace: home.namespace, name, at }), call)
    written.set(key, { name, count: 1, at: clock.monotonicMs() })
    return 'created'
  }
}

type Origin = Readonly<Record<'name' | 'at' | 'namespace' | 'component' | 'instance', string>>

function buildEvent(object: KubeObject, note: Note, { name, at, namespace, component, instance }: Origin): Event {
  const { metadata } = object
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace },
    involvedObject: {
      apiVersion: object.apiVersion,
      kind: object.kind,
      name: metadata.name,
      namespace,
      ...(metadata.uid !== undefined && { uid: metadata.uid }),
      ...(metadata.resourceVersion !== undefined && { resourceVersion: metadata.resourceVersion }),
    },
    type: note.type,
    reason: note.reason,
    message: cutText(note.message, messageMaxBytes),
    source: { component },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
    reportingComponent: component,
    reportingInstance: instance,
  }
}

/** Cuts at a character boundary, at most `maxBytes` long. */
export function cutText(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return text
  const room = maxBytes - Buffer.byteLength('…')
  return `${new TextDecoder().decode(bytes.subarray(0, room), { stream: true })}…`
}

/** Enough for a rollout with all its steps and a scaling in between. */
const burst = 20
const everyMs = 10_000
const objectsMax = 1_000

export function createEventLimit(clock: Clock) {
  const buckets = new BoundedMap<string, { left: number; at: number }>(objectsMax)
  return {
    take: (object: string): boolean => {
      const now = clock.monotonicMs()
      const bucket = buckets.get(object) ?? { left: burst, at: now }
      const left = Math.min(burst, bucket.left + (now - bucket.at) / everyMs)
      buckets.set(object, { left: left < 1 ? left : left - 1, at: now })
      return left >= 1
    },
  }
}
