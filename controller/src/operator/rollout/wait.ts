// Waits of a rollout, as status records them.
import { toKubeTime } from '../pool/conditions.ts'
import type { RolloutStatus, RolloutWait } from '../pool/pool-status.ts'
import type { RevisionObservation, RolloutInput } from './rollout-input.ts'

/** The wait for status; its time stays while the rollout waits for the same. */
export function waitFor({ state, now }: RolloutInput, what: RolloutWait): Pick<RolloutStatus, 'waiting'> {
  const before = state?.waiting
  return { waiting: before?.for === what ? before : { for: what, since: toKubeTime(now) } }
}

type Shortfall = NonNullable<RolloutStatus['shortfall']>

/** Begins with the lack of pods, and again with each pod that becomes ready. */
export function shortfallOf(
  { now, state }: RolloutInput,
  before: Shortfall | undefined,
  { revision, ready }: { readonly revision: string; readonly ready: number },
): Shortfall {
  const isOf = before !== undefined && (before.revision ?? state?.canary) === revision
  const same = isOf && ready <= before.ready && (ready > 0 || before.ready === 0)
  return same ? before : { revision, since: toKubeTime(now), ready }
}

/** Lack of room is all that keeps its pods from becoming ready. */
export const isWithoutRoom = ({ problem, noRoom }: RevisionObservation): boolean =>
  problem === undefined && noRoom !== undefined
