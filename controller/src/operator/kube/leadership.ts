// Leadership by a Lease (lease/lease-state.ts): renews or tries to acquire it every `retryMs`.
//
// A process that was stopped in between (SIGSTOP) finds out by the clock, which `isLeader` reads at every call. The
// clock of a machine that was suspended as a whole stands still meanwhile: there, and for what is already on its way,
// fencing holds. It is `confirm` before each write, and the resourceVersion (with the uid) that the write carries,
// which a successor has moved on by writing its fencing token before it writes anything else.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { repeat } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { type KubeClient, KubeError, leases } from './client.ts'
import type { Term } from './fencing-token.ts'
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
} from './lease/lease-state.ts'
import { createListeners } from './listeners.ts'
import type { Lease } from './objects.ts'

export type Leadership = Service & {
  /** By the clock, now: false as soon as the deadline is over, even when nothing has run since. */
  isLeader(): boolean
  /** Reads the lease. @throws NotLeaderError unless it is still ours, KubeError when it cannot be read. */
  confirm(): Promise<{ term: number }>
  /** Called with true when we begin to lead and with false when we cease to. What it throws is logged. */
  onChange(listener: (leads: boolean) => void): void
  /** The term we lead in, greater each time the lease is acquired; the highest that we have seen while we do not. */
  term(): number
  /** The term that we lead in, with the Lease; undefined while we do not lead. */
  current(): Term | undefined
}

export class NotLeaderError extends Error {
  override name = 'NotLeaderError'
}

export type LeadershipOptions = {
  readonly kube: KubeClient
  /** Name of the Lease in the client's namespace. */
  readonly name: string
  readonly leaseDurationMs?: number
  readonly renewDeadlineMs?: number
  readonly retryMs?: number
  readonly logger: Logger
  readonly metrics: KubeMetrics
  readonly clock?: Clock
}

/** @throws RangeError when the three times leave no room for one another. */
export function leadership(options: LeadershipOptions): Leadership {
  const { kube, name, metrics, clock = systemClock } = options
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryMs = 2_000 } = options
  // One renewal that fails must not cost the leadership.
  if (!(leaseDurationMs > renewDeadlineMs && renewDeadlineMs > 2 * retryMs && retryMs > 0)) {
    throw new RangeError('a lease needs leaseDurationMs > renewDeadlineMs > 2 x retryMs > 0')
  }
  // A pod's name is not enough, since its container may be started again.
  const identity = `${hostname()}-${randomBytes(4).toString('hex')}`
  const candidate = { name, identity, leaseDurationMs, renewDeadlineMs }
  const logger = options.logger.child({ lease: name, identity })
  const listeners = createListeners<[leads: boolean]>(logger)
  let notified = false

  /** Calls the listeners when the answer of `isLeader` has changed since they were called. */
  function notify(): void {
    const leads = held.isLeader()
    if (leads === notified) return
    notified = leads
    metrics.leader.set(leads ? 1 : 0)
    logger.info({ term: held.now().term }, leads ? 'leading from now on' : 'leading no more')
    listeners.notify(leads)
  }

  const held = heldState(clock, notify)
  // A request that is not answered must leave time for another one before the deadline.
  const call = { timeoutMs: renewDeadlineMs / 3 }
  const parts: Parts = { kube, candidate, call, clock, logger, held }
  const trying = repeat({
    name: `lease-${name}`,
    pass: async (signal) => {
      await renewOrAcquire(parts, signal)
      // Up to a fifth longer, so that candidates do not keep meeting.
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

/** The state, which ends by itself at the deadline; `changed` is called whenever it is set. */
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
  /** Does nothing when the state is no longer `from`. */
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

/** A stop does not cut the request short: the lease could not be released without knowing what became of it. */
async function write(parts: Parts, verb: 'create' | 'replace', lease: Lease): Promise<void> {
  const { kube, candidate, clock, held } = parts
  const before = held.now()
  const sentAtMs = clock.monotonicMs()
  const written = await kube[verb](leases, lease, parts.call)
  // Else our time ran out meanwhile and everybody was notified: we begin again, in a term of its own.
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
    // Somebody else acquired it, or it is tried again in the next pass, as long as our time lasts.
    if (!signal.aborted && !isConflict(error)) {
      logger.warn({ err: error, leads: held.isLeader() }, 'the lease could not be written')
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
  // Known now and not at the next renewal only, so that no more work is begun for nothing.
  if (!isStillOurs) held.giveUp(before)
  // The clock once more: we may have been stopped while the answer was on its way.
  if (!isStillOurs || !held.isLeader() || held.now().term !== term)
    throw new NotLeaderError('the lease is no longer ours')
  return { term }
}

/** The next one need not wait; when this fails it waits for the duration instead. */
async function release(parts: Parts): Promise<void> {
  const { kube, candidate, clock, logger, held } = parts
  const last = held.now()
  held.giveUp(last)
  if (!isLeading(last, clock.monotonicMs())) return
  await kube.replace(leases, releasedLease(last, candidate, clock.nowMs()), parts.call).catch((error: unknown) => {
    logger.warn({ err: error }, 'the lease could not be released')
  })
}
