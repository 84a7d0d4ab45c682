// Keys that want to be looked at. A key is worked on by one at a time; a key that is added while it is worked on is
// worked on once more, however often it was added. A key that failed rests, longer each time, and is not hurried by
// being added: what fails because the API server is overloaded is not helped by more events.
// Nothing is remembered here but that a key is due, so a process that dies loses nothing: the next one adds all keys.
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { type Backoff, backoffMs } from './backoff.ts'
import { KubeError } from './http/kube-error.ts'
import type { KubeMetrics } from './kube-metrics.ts'
import { NotLeaderError } from './lease.ts'

export type WorkQueue = Service & {
  /** Look at this key now; before the start it is only remembered. */
  add(key: string): void
  /**
   * Look at it in `ms` milliseconds, at most a day. Of several such times the earliest counts; a look before it, for
   * whatever reason, does not take it away.
   */
  addAfter(key: string, ms: number): void
}

export type WorkQueueOptions = {
  /** Label of the metrics. */
  readonly name: string
  /**
   * Looks at the world and makes one step. Milliseconds until the next look, or undefined when only an event needs one.
   * `signal` is aborted on stop and when `timeoutMs` is over.
   */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<number | undefined>
  /** Keys worked on at once. */
  readonly concurrency: number
  readonly backoff?: Backoff
  /** After so long a reconcile is told to end. Its key waits until it has, for it must never run twice at once. */
  readonly timeoutMs?: number
  readonly logger: Logger
  readonly metrics: KubeMetrics
  readonly clock?: Clock
  readonly random?: () => number
}

/** From a blink, for conflicts, to half a minute, for what needs a person. */
const defaultBackoff: Backoff = { baseMs: 100, maxMs: 30_000 }
const defaultTimeoutMs = 60_000
/** A lease that was lost is known to be so at its next renewal; until then a look may be for nothing, and no more often. */
const notLeaderMs = 1_000
const dayMs = 86_400_000

/** What is known of a key that is due, worked on, waiting or failed before; of any other key nothing is kept. */
type Entry = {
  state: 'idle' | 'due' | 'running'
  /** Added while running. */
  again: boolean
  failures: number
  /** Set after a failure: until it rings the key is not due, whoever adds it. */
  rest: NodeJS.Timeout | undefined
  /** Of `addAfter`, and of what a reconcile asked for. */
  later: { timer: NodeJS.Timeout; at: number } | undefined
}

type Outcome = 'done' | 'requeued' | 'conflict' | 'not_leader' | 'failed' | 'timeout'

export function workQueue(options: WorkQueueOptions): WorkQueue {
  const { name, concurrency, backoff = defaultBackoff, timeoutMs = defaultTimeoutMs, metrics } = options
  const { clock = systemClock, random = Math.random } = options
  const logger = options.logger.child({ queue: name })
  const stopping = new AbortController()
  const entries = new Map<string, Entry>()
  /** A Set keeps the order of arrival. It is no longer than there are objects, since a key is in it once. */
  const due = new Set<string>()
  const running = new Set<Promise<void>>()
  let started = false

  function entryOf(key: string): Entry {
    const known = entries.get(key)
    if (known) return known
    const entry: Entry = { state: 'idle', again: false, failures: 0, rest: undefined, later: undefined }
    entries.set(key, entry)
    return entry
  }

  function add(key: string): void {
    if (stopping.signal.aborted) return
    const entry = entryOf(key)
    if (entry.state === 'running') entry.again = true
    else if (entry.state === 'idle' && entry.rest === undefined) makeDue(key, entry)
  }

  function addAfter(key: string, ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`addAfter takes milliseconds from 0 on, not ${ms}`)
    if (stopping.signal.aborted) return
    const entry = entryOf(key)
    const waitMs = Math.min(ms, dayMs)
    const at = clock.monotonicMs() + waitMs
    if (entry.later !== undefined && entry.later.at <= at) return
    clearTimeout(entry.later?.timer)
    const ring = (): void => {
      entry.later = undefined
      add(key)
    }
    entry.later = { timer: setTimeout(ring, waitMs), at }
  }

  function makeDue(key: string, entry: Entry): void {
    entry.state = 'due'
    due.add(key)
    // Not at once: who adds may be in the middle of a change that the reconcile must see whole, or not at all.
    queueMicrotask(runDue)
  }

  function runDue(): void {
    if (!started || stopping.signal.aborted) return
    for (const key of due) {
      if (running.size >= concurrency) return
      due.delete(key)
      const entry = entryOf(key)
      entry.state = 'running'
      const run = work(key, entry).finally(() => {
        running.delete(run)
        runDue()
      })
      running.add(run)
    }
  }

  async function work(key: string, entry: Entry): Promise<void> {
    const stopTimer = metrics.reconcileSeconds.startTimer({ queue: name })
    const { outcome, requeueMs } = await attempt(key, entry)
    stopTimer()
    metrics.reconciles.inc({ queue: name, outcome })
    entry.state = 'idle'
    const again = entry.again
    entry.again = false
    if (stopping.signal.aborted) return
    if (entry.failures > 0) return rest(key, entry, requeueMs ?? 0)
    if (requeueMs !== undefined) addAfter(key, requeueMs)
    if (again) makeDue(key, entry)
    else if (entry.later === undefined) entries.delete(key)
  }

  /** Never rejects. */
  async function attempt(key: string, entry: Entry): Promise<{ outcome: Outcome; requeueMs: number | undefined }> {
    const limit = new AbortController()
    const stop = (): void => limit.abort()
    stopping.signal.addEventListener('abort', stop, { once: true })
    let late = false
    const timer = setTimeout(() => {
      late = true
      logger.error({ key, timeout_ms: timeoutMs }, 'a reconcile takes too long and is told to end')
      limit.abort()
    }, timeoutMs)
    try {
      const requeueMs = await options.reconcile(key, limit.signal)
      if (requeueMs !== undefined && !(requeueMs >= 0)) throw new RangeError(`reconcile asked for ${requeueMs} ms`)
      entry.failures = 0
      return { outcome: requeueMs === undefined ? 'done' : 'requeued', requeueMs }
    } catch (error) {
      if (error instanceof NotLeaderError && !late) return endQuietly(key, entry, error)
      entry.failures += 1
      const conflict = error instanceof KubeError && error.status === 409
      const fields = { key, failures: entry.failures, err: error }
      // Somebody else was faster, which is everyday; the next look sees what they did.
      if (conflict) logger.debug(fields, 'a reconcile met a conflict')
      else if (!stopping.signal.aborted) logger.warn(fields, 'a reconcile failed')
      const requeueMs = error instanceof KubeError ? error.retryAfterMs : undefined
      return { outcome: late ? 'timeout' : conflict ? 'conflict' : 'failed', requeueMs }
    } finally {
      clearTimeout(timer)
      stopping.signal.removeEventListener('abort', stop)
    }
  }

  /** It is another's to look at. No fault, and no back-off: should the lease come back to us, nothing has failed. */
  function endQuietly(key: string, entry: Entry, error: NotLeaderError): { outcome: Outcome; requeueMs: number } {
    entry.failures = 0
    logger.debug({ key, err: error }, 'a reconcile ended with the leadership')
    return { outcome: 'not_leader', requeueMs: notLeaderMs }
  }

  function rest(key: string, entry: Entry, atLeastMs: number): void {
    const ring = (): void => {
      entry.rest = undefined
      add(key)
    }
    entry.rest = setTimeout(ring, Math.max(atLeastMs, backoffMs(entry.failures, backoff, random)))
  }

  return {
    name: `queue-${name}`,
    start: () => {
      started = true
      runDue()
    },
    stop: async () => {
      stopping.abort()
      for (const { rest, later } of entries.values()) {
        clearTimeout(rest)
        clearTimeout(later?.timer)
      }
      entries.clear()
      due.clear()
      await Promise.all(running)
    },
    add,
    addAfter,
  }
}
