// Work queue of keys. A key is reconciled by one pass at a time, and once more if added meanwhile (queue-state.ts).
// Nothing is lost with the process: the next one adds all keys.
import { systemClock as clock } from '@matte/core/runtime/clock'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { type Backoff, backoffMs } from './backoff.ts'
import { KubeError } from './http/kube-error.ts'
import type { KubeMetrics, ReconcileOutcome } from './kube-metrics.ts'
import { NotLeaderError } from './leadership.ts'
import { add, addAt, begin, fail, type KeyState, nextRingMs, ring, succeed } from './queue-state.ts'

type WorkQueue = Service & {
  /** Reconciles the key now. Before the start it is only remembered. */
  add(key: string): void
  /** Reconciles the key in `ms` milliseconds, at most a day. The earliest request counts. */
  addAfter(key: string, ms: number): void
}

export type WorkQueueOptions = {
  readonly name: string
  /** Returns milliseconds until the next pass, or undefined. `signal` is aborted on stop and after 100 s. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<number | undefined>
  /** Concurrent passes, not counting those that take longer than 5 s. */
  readonly concurrency: number
  readonly logger: Logger
  readonly metrics: KubeMetrics
}

const backoffs: Readonly<Record<'failures' | 'conflicts', Backoff>> = {
  /** A failure often needs a person. */
  failures: { baseMs: 100, maxMs: 30_000 },
  /** A second is enough for the watch to deliver the other writer's version. */
  conflicts: { baseMs: 100, maxMs: 1_000 },
}
/** A pass begins writes for 10 s (reconcile/apply.ts); the last one and the status may wait 35 s each. */
const timeoutMs = 100_000
/** A lost Lease is noticed at the next renewal. */
const notLeaderMs = 1_000
const dayMs = 86_400_000

export function workQueue(options: WorkQueueOptions): WorkQueue {
  const { name, concurrency, metrics } = options
  const logger = options.logger.child({ queue: name })
  const stopping = new AbortController()
  const { signal } = stopping
  const due = new Set<string>() // in order of arrival
  const turns = createConcurrencyLimit(concurrency, runDue)
  let started = false
  const keys = keyStates((key) => {
    due.add(key)
    // Deferred, because the caller may be in the middle of a change.
    queueMicrotask(runDue)
  })

  function runDue(): void {
    if (!started || signal.aborted) return
    for (const key of due) {
      if (!turns.hasRoom()) return
      due.delete(key)
      turns.run(() => work(key))
    }
  }

  async function work(key: string): Promise<void> {
    const begun = begin(keys.get(key))
    keys.set(key, begun)
    const stopTimer = metrics.reconcileSeconds.startTimer({ queue: name })
    const { outcome, requeueMs } = await attempt({ ...options, logger, key, failures: begun.failures, signal })
    stopTimer()
    metrics.reconciles.inc({ queue: name, outcome })
    const state = keys.get(key)
    if (state?.state !== 'running') return
    const inMs = (ms: number): number => clock.monotonicMs() + ms
    const after = (pauseMs: number): number => inMs(Math.max(requeueMs, pauseMs))
    if (outcome === 'done') keys.set(key, succeed(state))
    else if (outcome === 'requeued' || outcome === 'not_leader') keys.set(key, succeed(state, inMs(requeueMs)))
    else {
      const row = outcome === 'conflict' ? 'conflicts' : 'failures'
      keys.set(key, fail(state, after(backoffMs(state[row] + 1, backoffs[row])), row))
    }
  }

  return {
    name: `queue-${name}`,
    start: () => {
      started = true
      runDue()
    },
    stop: async () => {
      stopping.abort()
      keys.close()
      await turns.ended()
    },
    add: (key) => keys.set(key, add(keys.get(key))),
    addAfter: (key, ms) => {
      if (!(ms >= 0)) throw new RangeError(`addAfter takes milliseconds from 0 on, not ${ms}`)
      keys.set(key, addAt(clock.monotonicMs() + Math.min(ms, dayMs), keys.get(key)))
    },
  }
}

function keyStates(onDue: (key: string) => void) {
  const entries = new Map<string, { readonly state: KeyState; readonly timer: NodeJS.Timeout | undefined }>()
  let closed = false

  function set(key: string, state: KeyState | undefined): void {
    const before = entries.get(key)
    clearTimeout(before?.timer)
    entries.delete(key)
    if (closed || state === undefined) return
    const atMs = nextRingMs(state)
    const waitMs = Math.max(0, Math.ceil(atMs - clock.monotonicMs()))
    const timer = Number.isFinite(atMs) ? setTimeout(() => set(key, ring(state, atMs)), waitMs) : undefined
    entries.set(key, { state, timer })
    if (state.state === 'due' && before?.state.state !== 'due') onDue(key)
  }
  return {
    get: (key: string): KeyState | undefined => entries.get(key)?.state,
    set,
    close: (): void => {
      closed = true
      for (const key of [...entries.keys()]) set(key, undefined)
    },
  }
}

type AttemptOptions = Pick<WorkQueueOptions, 'reconcile' | 'logger'> & {
  readonly key: string
  readonly failures: number
  readonly signal: AbortSignal
}

type Attempted = { readonly outcome: ReconcileOutcome; readonly requeueMs: number }

async function attempt({ reconcile, logger, key, failures, signal }: AttemptOptions): Promise<Attempted> {
  const limit = new AbortController()
  const timer = setTimeout(() => {
    logger.error({ key, timeout_ms: timeoutMs }, 'reconcile aborted after its time limit')
    limit.abort()
  }, timeoutMs)
  try {
    const requeueMs = await reconcile(key, AbortSignal.any([signal, limit.signal]))
    if (limit.signal.aborted) return { outcome: 'timeout', requeueMs: 0 }
    if (requeueMs === undefined) return { outcome: 'done', requeueMs: 0 }
    if (!(requeueMs >= 0)) throw new RangeError(`reconcile asked for ${requeueMs} ms`)
    return { outcome: 'requeued', requeueMs: Math.min(requeueMs, dayMs) }
  } catch (error) {
    const outcome = limit.signal.aborted ? 'timeout' : outcomeOf(error)
    const fields = { key, failures: failures + 1, err: error }
    if (outcome === 'not_leader') logger.debug({ key, err: error }, 'reconcile stopped with the leader term')
    // Conflicts are normal; the next pass sees the other writer's change.
    else if (outcome === 'conflict') logger.debug(fields, 'reconcile conflict')
    else if (!signal.aborted) logger.warn(fields, 'reconcile failed')
    if (outcome === 'not_leader') return { outcome, requeueMs: notLeaderMs }
    return { outcome, requeueMs: error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0 }
  } finally {
    clearTimeout(timer)
  }
}

function outcomeOf(error: unknown): 'not_leader' | 'conflict' | 'failed' {
  if (error instanceof NotLeaderError) return 'not_leader'
  return error instanceof KubeError && error.status === 409 ? 'conflict' : 'failed'
}

/** A slower pass waits for a slow write and stops counting, so it does not block other keys. */
const slowAfterMs = 5_000

/** Runs at most `atOnceMax` jobs at once, not counting slow ones. Calls `onRoom` when capacity may be free. */
export function createConcurrencyLimit(atOnceMax: number, onRoom: () => void) {
  const running = new Set<Promise<void>>()
  let slow = 0
  return {
    hasRoom: (): boolean => running.size - slow < atOnceMax,
    run: (work: () => Promise<void>): void => {
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        slow += 1
        onRoom()
      }, slowAfterMs)
      const run = work().finally(() => {
        clearTimeout(timer)
        if (isSlow) slow -= 1
        running.delete(run)
        onRoom()
      })
      running.add(run)
    },
    ended: async (): Promise<void> => {
      await Promise.all(running)
    },
  }
}
