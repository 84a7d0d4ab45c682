// Pods of each revision in the present state of a rollout.
import type { RolloutStatus } from '../../pool/pool-status.ts'
import { observationOf, type RolloutInput } from '../rollout-input.ts'
import { countDraining, podsMax, replacePods, resolveBounds } from './pod-numbers.ts'
import { podsInStep } from './steps.ts'

/** Some name of the old revision is not the new one's: requests for it go to the old one until the promotion. */
const retiresNames = ({ namesOf }: RolloutInput, stable: string, canary: string): boolean =>
  namesOf(stable).some((name) => !namesOf(canary).includes(name))

/** Some name is answered for by both: its requests are what the new revision is tried with. */
export const sharesNames = ({ namesOf }: RolloutInput, stable: string, canary: string): boolean =>
  namesOf(stable).some((name) => namesOf(canary).includes(name))

/** The canary has failed, or the spec no longer asks for it. */
const isRollingBack = ({ canary, failed }: RolloutStatus, { target }: RolloutInput): boolean =>
  canary !== undefined && (failed?.revision === canary || canary !== target)

/** Pods that the old revision keeps if there is room for them: for its share of the requests, rounded up. */
function podsKept(input: RolloutInput, { stable, canary, step, weight }: RolloutStatus): number {
  const { desired, rollout } = input
  if (rollout.strategy === 'Recreate') return 0
  if (step < 0 || retiresNames(input, stable ?? '', canary ?? '')) return desired
  return Math.max(Math.min(1, desired), desired - Math.floor((desired * weight) / 100))
}

/** Pods of each revision, the stable one first: of two new pods and one slot its pod gets the slot. */
export function sharePods(state: RolloutStatus, input: RolloutInput): Map<string, number> {
  const { desired, revisions, rollout } = input
  const { stable = input.target, canary } = state
  const others = revisions.filter(({ revision }) => revision !== stable && revision !== canary)
  const none = others.map(({ revision }) => [revision, 0] as const)
  const leaving = countLeaving(input, others)
  const bounds = resolveBounds(rollout, desired)
  const old = observationOf(input, stable)
  if (canary === undefined) {
    // Once the other revision has gone, a pool that grows need not wait for pods that drain.
    const free = leaving === 0 ? desired : podsMax(desired, bounds) - leaving - countDraining(old)
    return new Map([[stable, Math.min(desired, Math.max(old.replicas, free))], ...none])
  }
  const fresh = observationOf(input, canary)
  if (isRollingBack(state, input)) {
    const growing = { ...old, goal: desired, hasNoRoom: old.noRoom !== undefined }
    const shrinking = { ...fresh, keep: 0, mayGrow: false }
    const numbers = replacePods({ desired, bounds, growing, shrinking, leaving })
    // Without room an unready pod of the canary holds, or waits for, a slot that a stable pod needs.
    const isCramped = old.noRoom !== undefined || fresh.noRoom !== undefined
    const most = isCramped ? Math.max(fresh.ready, fresh.up) : numbers.shrinking
    return new Map([[stable, numbers.growing], [canary, Math.min(numbers.shrinking, most)], ...none])
  }
  const growing = { ...fresh, goal: podsInStep(input, state.step), hasNoRoom: fresh.noRoom !== undefined }
  const shrinking = { ...old, keep: podsKept(input, state), mayGrow: true }
  const numbers = replacePods({ desired, bounds, growing, shrinking, leaving })
  return new Map([[stable, numbers.shrinking], [canary, numbers.growing], ...none])
}

/** Pods of revisions that were given up, now or before. Pods that Kubernetes refuses to remove do not count. */
const countLeaving = ({ state }: RolloutInput, others: RolloutInput['revisions']): number =>
  others
    .filter(({ revision, replicas }) => replicas === 0 || revision === state?.canary || revision === state?.stable)
    .reduce((sum, { pods }) => sum + pods, 0)
