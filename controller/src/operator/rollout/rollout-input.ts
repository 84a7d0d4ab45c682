// What a rollout is decided from: plain data.
import { toKubeTime } from '../pool/conditions.ts'
import type { Controls } from '../pool/owner-requests.ts'
import type { PoolRollout } from '../pool/pool-spec.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { Reason } from '../pool/reasons.ts'
import type { RequestCounts } from './gate.ts'

export type RevisionObservation = {
  readonly revision: string
  /** Pods asked of its Deployment. */
  readonly replicas: number
  /** Pods of it that exist, those on their way out included. */
  readonly pods: number
  /** Pods that could take requests now. */
  readonly ready: number
  /** Pods that Kubernetes calls ready; this process may not reach them at the moment. */
  readonly up: number
  /** Pods that have a node and could take no requests yet; those on their way out left out. */
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
  /** `status.rollout`, absent before the first pass. */
  readonly state: RolloutStatus | undefined
  /** Revisions that have a Deployment. */
  readonly revisions: readonly RevisionObservation[]
  /** The public names that the pods of a revision answer for. */
  readonly namesOf: (revision: string) => readonly string[]
  /** What each revision did since the present step began. */
  readonly counts: ReadonlyMap<string, RequestCounts>
  readonly now: Date
  /** Requests of the owner, and the turn of the pool; absent: none, and at any time. */
  readonly controls?: Controls
}

const noPods = { replicas: 0, pods: 0, ready: 0, up: 0, coming: 0 }

export const observationOf = ({ revisions }: RolloutInput, revision: string): RevisionObservation =>
  revisions.find((observed) => observed.revision === revision) ?? { revision, ...noPods }

export const elapsedSeconds = ({ now }: RolloutInput, { since }: { readonly since: string }): number =>
  Math.max(0, (now.getTime() - Date.parse(since)) / 1000)

/** The state in which nothing is being tried; its time stays while it does. */
export function buildSettledState({ state, now }: RolloutInput, stable: string): RolloutStatus {
  const same = state !== undefined && state.stable === stable && state.canary === undefined
  return { stable, weight: 0, step: -1, since: same ? state.since : toKubeTime(now) }
}
