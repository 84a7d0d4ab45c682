// Leadership by a Lease (lease-state.ts), renewed or acquired every `retryMs`.
//
// A stopped process (SIGSTOP) notices by the clock, which `isLeader` reads at every call. The clock of a suspended
// machine stands still; there, and for requests in flight, fencing protects: `confirm` before each write, and the
// resourceVersion in the write, which a successor changes by writing its fencing token first.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { repeat } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { type KubeClient, KubeError, leases } from './client.ts'
import type { KubeMetrics } from './kube-metrics.ts'
import {
  acquiredLease,
  afterConflict,
  afterRead,
  afterWrite,
  type Candidate,
  type Following,
  following,
  isLeading,
  isOurs,
  type Leading,
  type LeaseState,
  type ObservedLease,
  releasedLease,
  renewedLease,
} from './lease-state.ts'
import { createListeners } from './listeners.ts'
import type { Lease } from './objects.ts'

export type Leadership = Service & {
  /** Reads the clock: false as soon as the deadline has passed. */
  isLeader(): boolean
  /** Reads the Lease. @throws NotLeaderError unless this replica still holds it, KubeError if it cannot be read */
  confirm(): Promise<{ term: number }>
  /** Called with true when this replica begins to lead and false when it stops. Exceptions are logged. */
  onChange(listener: (leads: boolean) => void): void
  /** The current term while leading, else the highest term seen. */
  term(): number
  /** The current term with the uid of its Lease; undefined while not leading. */
  current(): Term | undefined
}

export class NotLeaderError extends Error {
  override name = 'NotLeaderError'
}

export type LeadershipOptions = {
  readonly kube: KubeClient
  readonly name: string
  readonly leaseDurationMs?: number
  readonly renewDeadlineMs?: number
  readonly retryMs?: number
  readonly logger: Logger
  readonly metrics: KubeMetrics
  readonly clock?: Clock
}

/** @throws RangeError if the three times do not fit together */
export function leadership(options: LeadershipOptions): Leadership {
  const { kube, name, metrics, clock = systemClock } = options
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryMs = 2_000 } = options
  // A single failed renewal must not lose the Lease.
  if (!(leaseDurationMs > renewDeadlineMs && renewDeadlineMs > 2 * retryMs && retryMs > 0)) {
    throw new RangeError('a lease needs leaseDurationMs > renewDeadlineMs > 2 x retryMs > 0')
  }
  // Includes random bytes, because a container restarts under the same pod name.
  const identity = `${hostname()}-${randomBytes(4).toString('hex')}`
  const candidate = { name, identity, leaseDurationMs, renewDeadlineMs }
  const logger = options.logger.child({ lease: name, identity })
  const listeners = createListeners<[leads: boolean]>(logger)
  let notified = false

  function notify(): void {
    const leads = held.isLeader()
    if (leads === notified) return
    notified = leads
    metrics.leader.set(leads ? 1 : 0)
    logger.info({ term: held.now().term }, leads ? 'leading started' : 'leading stopped')
    listeners.notify(leads)
  }

  const held = heldState(clock, notify)
  // Leaves time for a second request before the deadline.
  const call = { timeoutMs: renewDeadlineMs / 3 }
  const parts: Parts = { kube, candidate, call, clock, logger, held }
  const trying = repeat({
    name: `lease-${name}`,
    pass: async (signal) => {
      await renewOrAcquire(parts, signal)
      // Up to a fifth longer, so candidates do not stay in step.
      return retryMs * (1 + Math.random() * 0.2)
    },
  })
  return {
    name: trying.name,
    start: trying.start,
    stop: async () => {
      await trying.stop()
      await release(parts)
    },
    isLeader: held.isLeader,
    confirm: () => confirm(parts),
    onChange: listeners.add,
    term: () => held.now().term,
    current: () => {
      const state = held.now()
      const lease = isLeading(state, clock.monotonicMs()) ? state.lease.metadata.uid : undefined
      return lease === undefined ? undefined : { count: state.term, lease }
    },
  }
}

function heldState(clock: Clock, changed: () => void) {
  let state: LeaseState = following()
  let deadline: NodeJS.Timeout | undefined
  const isLeader = (): boolean => isLeading(state, clock.monotonicMs())
  function set(next: LeaseState): void {
    state = next
    clearTimeout(deadline)
    if (next.state === 'leading') deadline = setTimeout(expire, Math.max(0, next.untilMs - clock.monotonicMs()))
    changed()
  }
  /** No effect unless `from` is the current state. */
  function giveUp(from: LeaseState): void {
    if (state === from && state.state === 'leading') set(following(state.term))
  }
  function expire(): void {
    if (!isLeader()) giveUp(state)
  }
  return { now: () => state, isLeader, set, giveUp, expire }
}

type Parts = Required<Pick<LeadershipOptions, 'kube' | 'clock' | 'logger'>> & {
  readonly candidate: Candidate
  readonly call: { readonly timeoutMs: number }
  readonly held: ReturnType<typeof heldState>
}

async function read(parts: Parts, signal: AbortSignal): Promise<ObservedLease> {
  const lease = await parts.kube.get(leases, parts.candidate.name, { ...parts.call, signal })
  return { lease, monotonicMs: parts.clock.monotonicMs(), wallMs: parts.clock.nowMs() }
}

/** Not aborted by a stop: releasing the Lease needs the outcome of this write. */
async function write(parts: Parts, verb: 'create' | 'replace', lease: Lease): Promise<void> {
  const { kube, candidate, clock, held } = parts
  const before = held.now()
  const sentAtMs = clock.monotonicMs()
  const written = await kube[verb](leases, lease, parts.call)
  // Otherwise the deadline passed in the meantime and listeners know; the next pass acquires a new term.
  if (held.now() === before) held.set(afterWrite(written, sentAtMs, candidate))
}

async function renewOrAcquire(parts: Parts, signal: AbortSignal): Promise<void> {
  const { logger, held } = parts
  held.expire()
  const state = held.now()
  try {
    if (state.state === 'leading') await renew(parts, state, signal)
    else await acquire(parts, state, signal)
  } catch (error) {
    // Another candidate acquired it, or the next pass retries before the deadline.
    if (!signal.aborted && !isConflict(error)) {
      logger.warn({ err: error, leads: held.isLeader() }, 'Lease not written')
    }
  }
}

async function renew(parts: Parts, state: Leading, signal: AbortSignal): Promise<void> {
  const { candidate, clock, held } = parts
  try {
    await write(parts, 'replace', renewedLease(state, candidate, clock.nowMs()))
  } catch (error) {
    if (signal.aborted || !isConflict(error)) throw error
    const observed = await read(parts, signal)
    if (held.now() === state) held.set(afterConflict(state, observed, candidate))
  }
}

async function acquire(parts: Parts, state: Following, signal: AbortSignal): Promise<void> {
  const observed = await read(parts, signal)
  const informed = afterRead(state, observed)
  parts.held.set(informed)
  const lease = acquiredLease(informed, observed, parts.candidate)
  if (lease !== undefined) await write(parts, observed.lease === undefined ? 'create' : 'replace', lease)
}

const isConflict = (error: unknown): boolean => error instanceof KubeError && error.status === 409

async function confirm(parts: Parts): Promise<{ term: number }> {
  const { kube, candidate, clock, held } = parts
  const before = held.now()
  if (!isLeading(before, clock.monotonicMs())) throw new NotLeaderError('this replica does not lead')
  const { term } = before
  const lease = await kube.get(leases, candidate.name, parts.call)
  const isStillOurs = isOurs(lease, before, candidate)
  // Ends the term now, so no further work begins.
  if (!isStillOurs) held.giveUp(before)
  // Reads the clock again, because this process may have been stopped during the request.
  if (!isStillOurs || !held.isLeader() || held.now().term !== term)
    throw new NotLeaderError('another replica holds the Lease')
  return { term }
}

/** Lets a successor lead at once. If it fails, the successor waits for the lease duration. */
async function release(parts: Parts): Promise<void> {
  const { kube, candidate, clock, logger, held } = parts
  const last = held.now()
  held.giveUp(last)
  if (!isLeading(last, clock.monotonicMs())) return
  await kube.replace(leases, releasedLease(last, candidate, clock.nowMs()), parts.call).catch((error: unknown) => {
    logger.warn({ err: error }, 'Lease not released')
  })
}

/** One term of a leader. It includes the Lease's uid because a deleted Lease is recreated with a count of 1. */
export type Term = {
  readonly count: number
  readonly lease: string
}

/** The term as an annotation value; unique per term. */
export const fencingTokenOf = ({ count, lease }: Term): string => `${count}/${lease}`
