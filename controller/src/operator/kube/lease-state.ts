// Leader election as a pure state machine over a Lease; leadership.ts adds time and I/O.
//
//    following ──acquired──► leading ──renewed──► leading
//        ▲                      │
//        └── deadline passed, lost to another, or stopped
//
// The holder leads until `renewDeadlineMs` after it began its last successful renewal. Others acquire the Lease when
// they have seen it unchanged for its whole duration. Both use their own monotonic clock; times in the Lease are
// informational. So the holder stops before another begins.
import { leases } from './client.ts'
import type { Lease } from './objects.ts'

/** `term`: the highest known; the current one while leading. */
export type LeaseState = Following | Leading
export type Following = { readonly state: 'following'; readonly term: number; readonly seen: Seen | undefined }
export type Leading = {
  readonly state: 'leading'
  readonly term: number
  readonly lease: Lease
  readonly untilMs: number
}

/** A version of the Lease, and when it was first read by the local clock. */
type Seen = { readonly resourceVersion: string | undefined; readonly atMs: number }

export type Candidate = {
  readonly name: string
  readonly identity: string
  readonly leaseDurationMs: number
  readonly renewDeadlineMs: number
}

/** The Lease as read, undefined if absent, and the time by both clocks. */
export type ObservedLease = {
  readonly lease: Lease | undefined
  readonly monotonicMs: number
  readonly wallMs: number
}

export const following = (term = 0): Following => ({ state: 'following', term, seen: undefined })

export const isLeading = (state: LeaseState, monotonicMs: number): state is Leading =>
  state.state === 'leading' && monotonicMs < state.untilMs

/** The spec may have other writers. A recreated Lease has another uid. */
export const isOurs = (lease: Lease | undefined, state: Leading, { identity }: Candidate): lease is Lease =>
  lease?.spec?.holderIdentity === identity &&
  lease.spec.leaseTransitions === state.term &&
  lease.metadata.uid === state.lease.metadata.uid

export function afterRead(state: Following, { lease, monotonicMs }: ObservedLease): Following {
  if (lease === undefined) return state
  const { resourceVersion } = lease.metadata
  const isSame = state.seen?.resourceVersion === resourceVersion
  const seen = isSame ? state.seen : { resourceVersion, atMs: monotonicMs }
  return { ...state, term: Math.max(state.term, termOf(lease)), seen }
}

/** Counts from before the request, so this term ends before another can begin. */
export const afterWrite = (lease: Lease, sentAtMs: number, { renewDeadlineMs }: Candidate): Leading => ({
  state: 'leading',
  term: termOf(lease),
  lease,
  untilMs: sentAtMs + renewDeadlineMs,
})

/** The Lease was written by another candidate, by a person, or by an own request that seemed lost. */
export function afterConflict(state: Leading, observed: ObservedLease, candidate: Candidate): LeaseState {
  const { lease } = observed
  if (isOurs(lease, state, candidate)) return { ...state, lease }
  // Deleted or acquired by another. A deleted Lease can be recreated at any moment.
  return afterRead(following(state.term), observed)
}

/** The Lease to write over the observed one; undefined while another candidate holds it. */
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

/** Without a holder, so a successor need not wait. */
export function releasedLease({ lease, term }: Leading, candidate: Candidate, wallMs: number): Lease {
  return { ...lease, spec: { ...specOf(term, candidate, wallMs), holderIdentity: '' } }
}

function isFree({ seen }: Following, { lease, monotonicMs }: ObservedLease, candidate: Candidate): boolean {
  const { holderIdentity, leaseDurationSeconds = 0 } = lease?.spec ?? {}
  if (!holderIdentity || holderIdentity === candidate.identity) return true
  // The holder relies on the duration that it wrote, which may be longer.
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

const microTime = (wallMs: number): string => new Date(wallMs).toISOString().replace('Z', '000Z')
