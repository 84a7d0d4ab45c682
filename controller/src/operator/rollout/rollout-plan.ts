// What is decided of a rollout: plain data.
import type { Held } from '../pool/owner-requests.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'

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
  /** Pods wanted of each revision that has a Deployment or needs one. */
  readonly pods: ReadonlyMap<string, number>
  /** Revisions without a pod and without a purpose: their Deployments may go. */
  readonly leftover: readonly string[]
  /** What the rollout waits for, for a person; empty when there is none. */
  readonly why: string
  readonly event?: RolloutEvent
  /** Set while its owner, or the turn of other pools, keeps the rollout from going on. */
  readonly held?: Held
}

export type Next = Pick<RolloutPlan, 'state' | 'why' | 'event' | 'held'>

/** A state in which something serves. */
export type Serving = RolloutStatus & { readonly stable: string }
/** A state in which something is being tried or rolled back. */
export type Trying = Serving & { readonly canary: string }
