// Keys that are to be reconciled: each by one at a time, and once more when it was added meanwhile, however often
// (queue/queue-state.ts). A process that dies loses nothing: the next one adds all keys.
import { systemClock as clock } from '@matte/core/runtime/clock'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { type Backoff, backoffMs } from './backoff.ts'
import { KubeError } from './http/kube-error.ts'
import type { KubeMetrics, ReconcileOutcome } from './kube-metrics.ts'
import { NotLeaderError } from './leadership.ts'
import { add, addAt, begin, fail, type KeyState, nextRingMs, ring, succeed } from './queue/queue-state.ts'
import { createTurns } from './queue/turns.ts'

type WorkQueue = Service & {
  /** Reconcile this key now; before the start it is only remembered. */
  add(key: string): void
  /**
   * Reconcile it in `ms` milliseconds, at most a day. Of several such times the earliest counts; a reconcile before it,
   * for whatever reason, does not take it away.
   */
  addAfter(key: string, ms: number): void
}

export type WorkQueueOptions = {
  /** Label of the metrics. */
  readonly name: string
  /**
   * Observes the world and makes one step. Milliseconds until the next pass, or undefined when only a change needs one.
   * `signal` is aborted on stop and after 100 s.
   */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<number | undefined>
  /** Keys worked on at once, without those whose pass takes longer than 5 s. */
  readonly concurrency: number
  readonly logger: Logger
  readonly metrics: KubeMetrics
}

const backoffs: Readonly<Record<'failures' | 'conflicts', Backoff>> = {
  /** A failure often needs a person. */
  failures: { baseMs: 100, maxMs: 30_000 },
  /** The next pass reads the other writer's version. A second is enough for the watch to report it. */
  conflicts: { baseMs: 100, maxMs: 1_000 },
}
/**
 * After so long a reconcile is aborted. Its key waits until it has ended, for it must never run twice at once. A pass
 * begins writes for 10 s (reconcile/apply.ts); the last of them and the status may wait 35 s each.
 */
const timeoutMs = 100_000
/** A lost lease is known as such at its next renewal; until then a reconcile may be for nothing, and no more often. */
const notLeaderMs = 1_000
const dayMs = 86_400_000

export function workQueue(options: WorkQueueOptions): WorkQueue {
  const { name, concurrency, metrics } = options
  const logger = options.logger.child({ queue: name })
  const stopping = new AbortController()
  const { signal } = stopping
  const due = new Set<string>() // in the order of arrival
  const turns = createTurns(concurrency, runDue)
  let started = false
  const keys = keyStates((key) => {
    due.add(key)
    // Not at once: who adds may be in the middle of a change that the reconcile must see whole, or not at all.
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
    if (state?.state !== 'running') return // closed
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

/** The state of each key, with its timer; `onDue` is called when a key becomes due. */
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
  /** Before this attempt, in a row. */
  readonly failures: number
  readonly signal: AbortSignal
}

type Attempted = { readonly outcome: ReconcileOutcome; readonly requeueMs: number }

/** Never rejects. */
async function attempt({ reconcile, logger, key, failures, signal }: AttemptOptions): Promise<Attempted> {
  const limit = new AbortController()
  const timer = setTimeout(() => {
    logger.error({ key, timeout_ms: timeoutMs }, 'a reconcile takes too long and is aborted')
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
    if (outcome === 'not_leader') logger.debug({ key, err: error }, 'a reconcile ended with the leadership')
    // Somebody else was faster, which is everyday; the next pass sees what they did.
    else if (outcome === 'conflict') logger.debug(fields, 'a reconcile met a conflict')
    else if (!signal.aborted) logger.warn(fields, 'a reconcile failed')
    if (outcome === 'not_leader') return { outcome, requeueMs: notLeaderMs }
    return { outcome, requeueMs: error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0 }
  } finally {
    clearTimeout(timer)
  }
}

/** `not_leader` is no failure: the key is another's to reconcile, and should the lease come back nothing has failed. */
function outcomeOf(error: unknown): 'not_leader' | 'conflict' | 'failed' {
  if (error instanceof NotLeaderError) return 'not_leader'
  return error instanceof KubeError && error.status === 409 ? 'conflict' : 'failed'
}
