import type { Gate } from '@matte/core/db/tables/operator'
import { toKubeTime } from '../pool/conditions.ts'
import type { Controls, Held } from '../pool/owner-requests.ts'
import type { PoolRollout } from '../pool/pool-spec.ts'
import type { RolloutStatus, RolloutWait } from '../pool/pool-status.ts'
import { loadReasons, type Reason } from '../pool/reasons.ts'
import type { RequestCounts } from './gate.ts'

type Problem = { readonly reason: Reason; readonly message: string }

export type RevisionObservation = {
  readonly revision: string
  readonly replicas: number
  readonly pods: number
  readonly ready: number
  /** Pods that Kubernetes reports ready, even if this process does not reach them. */
  readonly up: number
  readonly problem?: Problem
  readonly noRoom?: Problem
}

export type RolloutInput = {
  readonly rollout: PoolRollout
  readonly target: string
  readonly desired: number
  readonly state: RolloutStatus | undefined
  readonly revisions: readonly RevisionObservation[]
  readonly namesOf: (revision: string) => readonly string[]
  readonly counts: ReadonlyMap<string, RequestCounts>
  readonly isDemandFresh: boolean
  readonly retry: string | undefined
  /** Seconds since a time in the state, by a monotonic clock. */
  readonly elapsed: (time: string) => number
  readonly now: Date
  readonly controls?: Controls
}

const noPods = { replicas: 0, pods: 0, ready: 0, up: 0 }

export const observationOf = ({ revisions }: RolloutInput, revision: string): RevisionObservation =>
  revisions.find((observed) => observed.revision === revision) ?? { revision, ...noPods }

export const elapsedSeconds = ({ elapsed }: RolloutInput, { since }: { readonly since: string }): number =>
  elapsed(since)

/** State without a canary; its time stays while it lasts. */
export function buildSettledState({ state, now }: RolloutInput, stable: string): RolloutStatus {
  const same = state !== undefined && state.stable === stable && state.canary === undefined
  return { stable, weight: 0, step: -1, since: same ? state.since : toKubeTime(now) }
}

export type RolloutEvent = {
  readonly type: 'Normal' | 'Warning'
  readonly reason:
    | 'RolloutStarted'
    | 'RolloutStep'
    | 'RolloutPromoted'
    | 'RolloutRolledBack'
    | 'RolloutWithdrawn'
    | 'RolloutPaused'
    | 'RolloutResumed'
  readonly message: string
}

export type RolloutPlan = {
  readonly state: RolloutStatus
  readonly pods: ReadonlyMap<string, number>
  readonly leftover: readonly string[]
  readonly why: string
  readonly event?: RolloutEvent
  readonly held?: Held
  /** Gates of the step that this pass found in progress. */
  readonly gates: readonly Gate[]
}

export type Next = Pick<RolloutPlan, 'state' | 'why' | 'event' | 'held'>

export type Serving = RolloutStatus & { readonly stable: string }
export type Trying = Serving & { readonly canary: string }

/** The wait to record; keeps its time while the reason is the same. */
export function waitFor({ state, now }: RolloutInput, what: RolloutWait): Pick<RolloutStatus, 'waiting'> {
  const before = state?.waiting
  return { waiting: before?.for === what ? before : { for: what, since: toKubeTime(now) } }
}

type Shortfall = NonNullable<RolloutStatus['shortfall']>

/** Restarts with each pod that becomes ready. */
export function shortfallOf(
  { now, state }: RolloutInput,
  before: Shortfall | undefined,
  { revision, ready }: { readonly revision: string; readonly ready: number },
): Shortfall {
  const isOf = before !== undefined && (before.revision ?? state?.canary) === revision
  const same = isOf && ready <= before.ready && (ready > 0 || before.ready === 0)
  return same ? before : { revision, since: toKubeTime(now), ready }
}

export const isWithoutRoom = ({ problem, noRoom }: RevisionObservation): boolean =>
  problem === undefined && noRoom !== undefined

export const isOwnFailure = (problem: RevisionObservation['problem']): boolean =>
  problem !== undefined && (problem.reason === 'PodCrashing' || loadReasons.includes(problem.reason))
