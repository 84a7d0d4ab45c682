// Who leads, as a pure state machine over a Lease. Time and I/O are the shell's (../leadership.ts).
//
//   following ──acquired──► leading ──renewed──► leading
//       ▲                      │
//       └── deadline passed, lost to another, or stopped
//
// The holder leads until `renewDeadlineMs` after it began its last good renewal. Others acquire the lease once they
// have seen it unchanged for the whole of its duration. Both measure by their own monotonic clock, from what they did
// or saw themselves; the times written into the lease are for people. So the holder stops before another can begin:
//
//   holder      renewal sent ├──── leads: 10 s ────┤ stops by itself
//   API server        written ┤
//   another              seen ├──────── waits: 15 s ────────┤ acquires
import { leases } from '../client.ts'
import type { Lease } from '../objects.ts'

/** `term`: the highest that we know of, which is ours while we lead. */
export type LeaseState = Following | Leading
export type Following = { readonly state: 'following'; readonly term: number; readonly seen: Seen | undefined }
export type Leading = {
  readonly state: 'leading'
  readonly term: number
  readonly lease: Lease
  readonly untilMs: number
}

/** A version of the lease, and when by our clock we first read it. */
type Seen = { readonly resourceVersion: string | undefined; readonly atMs: number }

export type Candidate = {
  /** Of the Lease. */
  readonly name: string
  readonly identity: string
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
}

/** The lease as it was read, undefined when there is none, and the time by both clocks. */
export type ObservedLease = {
  readonly lease: Lease | undefined
  readonly monotonicMs: number
  readonly wallMs: number
}

export const following = (term = 0): Following => ({ state: 'following', term, seen: undefined })

export const isLeading = (state: LeaseState, monotonicMs: number): state is Leading =>
  state.state === 'leading' && monotonicMs < state.untilMs

/** Others may have written beside. A Lease that was made again, be it from a copy, is not: it has another uid. */
export const isOurs = (lease: Lease | undefined, state: Leading, { identity }: Candidate): lease is Lease =>
  lease?.spec?.holderIdentity === identity &&
  lease.spec.leaseTransitions === state.term &&
  lease.metadata.uid === state.lease.metadata.uid

/** Remembers since when the lease has been as it is now. */
export function afterRead(state: Following, { lease, monotonicMs }: ObservedLease): Following {
  if (lease === undefined) return state
  const { resourceVersion } = lease.metadata
  const isSame = state.seen?.resourceVersion === resourceVersion
  const seen = isSame ? state.seen : { resourceVersion, atMs: monotonicMs }
  return { ...state, term: Math.max(state.term, termOf(lease)), seen }
}

/** Our time counts from before the request, so that it is over before anybody else's begins. */
export const afterWrite = (lease: Lease, sentAtMs: number, { renewDeadlineMs }: Candidate): Leading => ({
  state: 'leading',
  term: termOf(lease),
  lease,
  untilMs: sentAtMs + renewDeadlineMs,
})

/** Somebody wrote the lease first: another candidate, a person, or we ourselves in a request that seemed lost. */
export function afterConflict(state: Leading, observed: ObservedLease, candidate: Candidate): LeaseState {
  const { lease } = observed
  if (isOurs(lease, state, candidate)) return { ...state, lease }
  // Gone, or another's. When it was deleted nothing keeps another from making it again at this moment.
  return afterRead(following(state.term), observed)
}

/** The lease to write in place of the one observed, which `state` has read; undefined: it is another's for now. */
export function acquiredLease(state: Following, observed: ObservedLease, candidate: Candidate): Lease | undefined {
  const { lease, wallMs } = observed
  if (lease !== undefined && !isFree(state, observed, candidate)) return undefined
  const made = { apiVersion: 'coordination.k8s.io/v1', kind: leases.kind, metadata: { name: candidate.name } }
  const spec = { ...specOf(state.term + 1, candidate, wallMs), acquireTime: microTime(wallMs) }
  return { ...(lease ?? made), spec }
}

export function renewedLease({ lease, term }: Leading, candidate: Candidate, wallMs: number): Lease {
  const acquireTime = lease.spec?.acquireTime
  return { ...lease, spec: { ...specOf(term, candidate, wallMs), ...(acquireTime && { acquireTime }) } }
}

/** Nobody's, so that the next one need not wait. */
export function releasedLease({ lease, term }: Leading, candidate: Candidate, wallMs: number): Lease {
  return { ...lease, spec: { ...specOf(term, candidate, wallMs), holderIdentity: '' } }
}

function isFree({ seen }: Following, { lease, monotonicMs }: ObservedLease, candidate: Candidate): boolean {
  const { holderIdentity, leaseDurationSeconds = 0 } = lease?.spec ?? {}
  if (!holderIdentity || holderIdentity === candidate.identity) return true
  // The holder counts on the duration that it wrote, which may be longer than ours.
  const durationMs = Math.max(candidate.leaseDurationMs, leaseDurationSeconds * 1_000)
  return seen !== undefined && monotonicMs >= seen.atMs + durationMs
}

const termOf = ({ spec }: Lease): number => spec?.leaseTransitions ?? 0

const specOf = (term: number, { identity, leaseDurationMs }: Candidate, wallMs: number) => ({
  holderIdentity: identity,
  leaseDurationSeconds: Math.ceil(leaseDurationMs / 1_000),
  renewTime: microTime(wallMs),
  leaseTransitions: term,
})

/** Kubernetes' MicroTime. */
const microTime = (wallMs: number): string => new Date(wallMs).toISOString().replace('Z', '000Z')
