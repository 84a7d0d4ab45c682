// Who leads, by a Lease. The holder renews every `retryMs` and leads until `renewDeadlineMs` after it began its last
// good renewal. Others take the lease once they have seen it unchanged for the whole of its duration. Both measure by
// their own monotonic clock, from what they did or saw themselves; the times written into the lease are for people, and
// no clock is compared with another. So that the holder stops before another can begin:
//
//   holder      renewal sent ├──── leads: 10 s ────┤ stops by itself
//   API server        written ┤
//   another              seen ├──────── waits: 15 s ────────┤ takes
//
// A process that was stopped in between (SIGSTOP) finds out when it looks at the clock, which `isLeader` does at every
// call. The clock of a machine that was suspended as a whole stands still meanwhile: there, and for what is already on
// its way, the fence holds. It is `confirm` before each write, and the resourceVersion (with the uid) that the write
// carries, which a successor has moved on by stamping its term before it writes anything else.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { pause, type Service } from '@matte/core/runtime/service'
import type { Logger } from 'pino'
import { type KubeClient, KubeError, leases } from './client.ts'
import type { KubeMetrics } from './kube-metrics.ts'
import type { Lease } from './objects.ts'

/**
 * One time of leading. The count alone is not enough to tell it from all others: a Lease that somebody deletes is made
 * again, and one who has not seen the old one counts from 1 again.
 */
export type Term = {
  /** Greater each time the Lease is taken. */
  readonly count: number
  /** uid of the Lease. */
  readonly lease: string
}

/** The term as text, for an annotation; equal for equal terms and no others. */
export const stampOf = ({ count, lease }: Term): string => `${count}/${lease}`

export type Leadership = Service & {
  /** By the clock, now: false as soon as the deadline is over, even when nothing has run since. */
  isLeader(): boolean
  /** Reads the lease. @throws NotLeaderError unless it is still ours, KubeError when it cannot be read. */
  confirm(): Promise<{ term: number }>
  /** Called with true when we begin to lead and with false when we cease to. What it throws is logged. */
  onChange(listener: (leads: boolean) => void): void
  /** The term we lead in, greater each time the lease is taken; while we do not lead, the highest that we have seen. */
  term(): number
  /** uid of the Lease that we hold; undefined while we hold none. */
  leaseUid(): string | undefined
}

export class NotLeaderError extends Error {
  override name = 'NotLeaderError'
}

export type LeadershipOptions = {
  readonly kube: KubeClient
  /** Name of the Lease in the client's namespace. */
  readonly name: string
  /** Unique to this process: one that comes after it under the same name would take itself for the holder. */
  readonly identity?: string
  readonly leaseDurationMs?: number
  readonly renewDeadlineMs?: number
  readonly retryMs?: number
  readonly logger: Logger
  readonly metrics: KubeMetrics
  readonly clock?: Clock
}

/** What we saw of the lease last, and when by our clock. */
type Seen = { readonly lease: Lease; readonly at: number }

/** What we hold: until when by our clock, in which term, and the lease as the server has it. */
type Held = { readonly lease: Lease; readonly until: number; readonly term: number }

/** A pod's name is not enough, since its container may be started again. */
const ownIdentity = (): string => `${hostname()}-${randomBytes(4).toString('hex')}`

/** @throws RangeError when the three times leave no room for one another. */
export function leadership(options: LeadershipOptions): Leadership {
  const { kube, name, identity = ownIdentity(), metrics, clock = systemClock } = options
  const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryMs = 2_000 } = options
  checkTimes(leaseDurationMs, renewDeadlineMs, retryMs)
  const logger = options.logger.child({ lease: name, identity })
  const stopping = new AbortController()
  const { signal } = stopping
  const listeners: ((leads: boolean) => void)[] = []
  // A request that is not answered must leave time for another one before the deadline.
  const timeoutMs = renewDeadlineMs / 3
  let seen: Seen | undefined
  let held: Held | undefined
  let lastTerm = 0
  let told = false
  let endOfTerm: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined

  const isLeader = (): boolean => held !== undefined && clock.monotonicMs() < held.until

  /** Tells the listeners when the answer of `isLeader` has changed since they were told. */
  function tell(): void {
    const leads = isLeader()
    if (leads === told) return
    told = leads
    metrics.leader.set(leads ? 1 : 0)
    logger.info({ term: lastTerm }, leads ? 'leading from now on' : 'leading no more')
    for (const listener of listeners) {
      try {
        listener(leads)
      } catch (error) {
        logger.error({ err: error }, 'a listener of the leadership failed')
      }
    }
  }

  function hold(lease: Lease, sentAt: number): void {
    const term = lease.spec?.leaseTransitions ?? 0
    held = { lease, until: sentAt + renewDeadlineMs, term }
    lastTerm = term
    clearTimeout(endOfTerm)
    endOfTerm = setTimeout(lapse, Math.max(0, held.until - clock.monotonicMs()))
    tell()
  }

  /** Gives up what we hold when its time is over. */
  function lapse(): void {
    if (isLeader()) return
    letGo()
  }

  function letGo(): void {
    held = undefined
    clearTimeout(endOfTerm)
    tell()
  }

  /**
   * Writes the lease as ours. Our time counts from before the request, so that it is over before anybody else's begins.
   * A stop does not cut the request short: the lease could not be released without knowing what became of it.
   */
  async function write(lease: Lease, write: 'create' | 'replace'): Promise<void> {
    const before = held
    const sentAt = clock.monotonicMs()
    const written = await kube[write](leases, lease, { timeoutMs })
    // Our time ran out meanwhile and everybody was told: we begin again, in a term of its own.
    if (held === before) hold(written, sentAt)
  }

  const spec = (term: number): NonNullable<Lease['spec']> => ({
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1_000),
    renewTime: microTime(clock),
    leaseTransitions: term,
  })

  async function renew({ lease, term }: Held): Promise<void> {
    const acquireTime = lease.spec?.acquireTime
    await write({ ...lease, spec: { ...spec(term), ...(acquireTime && { acquireTime }) } }, 'replace')
  }

  async function tryToTake(): Promise<void> {
    const lease = await kube.get(leases, name, { timeoutMs, signal })
    const begins = { acquireTime: microTime(clock) }
    if (lease === undefined) {
      const meta = { apiVersion: 'coordination.k8s.io/v1', kind: leases.kind, metadata: { name } }
      return await write({ ...meta, spec: { ...spec(lastTerm + 1), ...begins } }, 'create')
    }
    look(lease)
    if (!isFree(lease)) return
    const term = Math.max(lease.spec?.leaseTransitions ?? 0, lastTerm) + 1
    await write({ ...lease, spec: { ...spec(term), ...begins } }, 'replace')
  }

  /** Remembers since when the lease has been as it is now; our own later look is what counts, never its own times. */
  function look(lease: Lease): void {
    lastTerm = Math.max(lastTerm, lease.spec?.leaseTransitions ?? 0)
    if (seen?.lease.metadata.resourceVersion === lease.metadata.resourceVersion) return
    seen = { lease, at: clock.monotonicMs() }
  }

  function isFree({ spec: current }: Lease): boolean {
    if (!current?.holderIdentity || current.holderIdentity === identity) return true
    // The holder counts on the duration that it wrote, which may be longer than ours.
    const durationMs = Math.max(leaseDurationMs, (current.leaseDurationSeconds ?? 0) * 1_000)
    return seen !== undefined && clock.monotonicMs() >= seen.at + durationMs
  }

  async function round(): Promise<void> {
    lapse()
    const current = held
    try {
      if (current === undefined) await tryToTake()
      else await renew(current)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof KubeError && error.status === 409) return await afterConflict(current)
      logger.warn({ err: error, leads: isLeader() }, 'the lease could not be written')
    }
  }

  /** Somebody wrote the lease first: another candidate, a person, or we ourselves in a request that seemed lost. */
  async function afterConflict(current: Held | undefined): Promise<void> {
    if (current === undefined) return
    const lease = await kube.get(leases, name, { timeoutMs, signal }).catch((error: unknown) => {
      logger.warn({ err: error }, 'the lease could not be read')
      return null
    })
    if (lease === null) return // asked again in the next round, as long as our time lasts
    if (lease?.spec?.holderIdentity === identity && lease.spec.leaseTransitions === current.term) {
      if (held === current) held = { ...current, lease }
      return
    }
    // Gone, or another's. When it was deleted nothing keeps another from making it again at this moment.
    if (lease !== undefined) look(lease)
    letGo()
  }

  async function forever(): Promise<void> {
    while (!signal.aborted) {
      await round()
      // Up to a fifth longer, so that candidates do not keep meeting.
      await pause(retryMs * (1 + Math.random() * 0.2), signal)
    }
  }

  /** The next one need not wait. When this fails it waits for the duration instead. */
  async function release({ lease, term }: Held): Promise<void> {
    const freed = { ...lease, spec: { ...spec(term), holderIdentity: '' } }
    await kube.replace(leases, freed, { timeoutMs }).catch((error: unknown) => {
      logger.warn({ err: error }, 'the lease could not be released')
    })
  }

  return {
    name: `lease-${name}`,
    start: () => {
      running ??= forever()
    },
    stop: async () => {
      stopping.abort()
      await running
      const last = held
      letGo()
      if (last !== undefined && clock.monotonicMs() < last.until) await release(last)
    },
    isLeader,
    confirm: async () => {
      const current = held
      if (current === undefined || !isLeader()) throw new NotLeaderError('this replica does not lead')
      const lease = await kube.get(leases, name, { timeoutMs })
      const ours =
        lease?.spec?.holderIdentity === identity &&
        lease.spec.leaseTransitions === current.term &&
        lease.metadata.uid === current.lease.metadata.uid
      // Known now and not at the next renewal only, so that no more work is begun for nothing.
      if (!ours && held === current) letGo()
      // The clock once more: we may have been stopped while the answer was on its way.
      if (!ours || !isLeader() || held?.term !== current.term) throw new NotLeaderError('the lease is no longer ours')
      return { term: current.term }
    },
    onChange: (listener) => {
      listeners.push(listener)
    },
    term: () => lastTerm,
    leaseUid: () => held?.lease.metadata.uid,
  }
}

function checkTimes(leaseDurationMs: number, renewDeadlineMs: number, retryMs: number): void {
  // One renewal that fails must not cost the leadership.
  if (!(leaseDurationMs > renewDeadlineMs && renewDeadlineMs > 2 * retryMs && retryMs > 0)) {
    throw new RangeError('a lease needs leaseDurationMs > renewDeadlineMs > 2 x retryMs > 0')
  }
}

/** Kubernetes' MicroTime, by our wall clock: for people. */
const microTime = (clock: Clock): string => new Date(clock.nowMs()).toISOString().replace('Z', '000Z')
