// What a rollout is decided from: plain data.
import { toKubeTime } from '../pool/conditions.ts'
import type { Controls } from '../pool/owner-requests.ts'
import type { PoolRollout } from '../pool/pool-spec.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { Reason } from '../pool/reasons.ts'
import type { RequestCounts } from './gate.ts'

type Problem = { readonly reason: Reason; readonly message: string }

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
  /** Keeps its pods from becoming ready; lack of room is in `noRoom`. */
  readonly problem?: Problem
  /** A pod of it has no node or no quota. */
  readonly noRoom?: Problem
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
  /** Whether `counts` were read just now. */
  readonly isDemandFresh: boolean
  /** The annotation matte.dev/retry. */
  readonly retry: string | undefined
  /** Seconds since a time of the state, by a clock that does not jump. */
  readonly elapsed: (time: string) => number
  /** For times that are written. */
  readonly now: Date
  /** Requests of the owner, and the turn of the pool; absent: none, and at any time. */
  readonly controls?: Controls
}

const noPods = { replicas: 0, pods: 0, ready: 0, up: 0 }

export const observationOf = ({ revisions }: RolloutInput, revision: string): RevisionObservation =>
  revisions.find((observed) => observed.revision === revision) ?? { revision, ...noPods }

export const elapsedSeconds = ({ elapsed }: RolloutInput, { since }: { readonly since: string }): number =>
  elapsed(since)

/** The state in which nothing is being tried; its time stays while it does. */
export function buildSettledState({ state, now }: RolloutInput, stable: string): RolloutStatus {
  const same = state !== undefined && state.stable === stable && state.canary === undefined
  return { stable, weight: 0, step: -1, since: same ? state.since : toKubeTime(now) }
}
