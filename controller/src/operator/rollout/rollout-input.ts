// What a step of a rollout is decided from, and what is decided: plain data both.

import type { PoolRollout } from '../pool/pool-spec.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { Reason } from '../pool/reasons.ts'
import type { Figures } from './gate.ts'

export type RevisionSeen = {
  readonly revision: string
  /** Pods asked of its Deployment. */
  readonly replicas: number
  /** Pods of it that exist, those on their way out included. */
  readonly pods: number
  /** Pods that could take images now. */
  readonly ready: number
  /** Pods that Kubernetes calls ready; this process may not reach them at the moment. */
  readonly up: number
  /** Pods that have a node and could take no images yet; those on their way out left out. */
  readonly coming: number
  /** What keeps its pods from becoming ready, when something is known to. */
  readonly problem?: { readonly reason: Reason; readonly message: string }
}

export type RolloutInput = {
  readonly rollout: PoolRollout
  /** The revision that the spec asks for. */
  readonly target: string
  /** Pods wanted for the pool, by whoever owns that number. */
  readonly desired: number
  /** `status.rollout`, absent before the first look. */
  readonly state: RolloutStatus | undefined
  /** Revisions that have a Deployment. */
  readonly revisions: readonly RevisionSeen[]
  /** The public names that the pods of a revision answer for. */
  readonly namesOf: (revision: string) => readonly string[]
  /** What each revision did since the present step began. */
  readonly figures: ReadonlyMap<string, Figures>
  readonly now: Date
}

export type RolloutNews = {
  readonly type: 'Normal' | 'Warning'
  readonly reason: 'RolloutStarted' | 'RolloutStep' | 'RolloutPromoted' | 'RolloutRolledBack' | 'RolloutWithdrawn'
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
  /** Set when the state has changed in a way that people want to know of. */
  readonly news?: RolloutNews
}

/** The state after this look. */
export type Next = Pick<RolloutPlan, 'state' | 'why' | 'news'>

/** A state in which something serves. */
export type Serving = RolloutStatus & { readonly stable: string }
/** A state in which something is being tried, or is on its way back. */
export type Trying = Serving & { readonly canary: string }

export const seenOf = ({ revisions }: RolloutInput, revision: string): RevisionSeen =>
  revisions.find((seen) => seen.revision === revision) ?? {
    revision,
    replicas: 0,
    pods: 0,
    ready: 0,
    up: 0,
    coming: 0,
  }

export const elapsedSeconds = ({ now }: RolloutInput, { since }: { readonly since: string }): number =>
  Math.max(0, (now.getTime() - Date.parse(since)) / 1000)
