import type { PoolRollout } from '../pool/pool-spec.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { countDraining, podsMax, replacePods, resolveBounds } from './pod-numbers.ts'
import { observationOf, type RolloutInput } from './rollout-decision.ts'

/** Some name of the old revision is not in the new one; its requests stay with the old one until the promotion. */
const retiresNames = ({ namesOf }: RolloutInput, stable: string, canary: string): boolean =>
  namesOf(stable).some((name) => !namesOf(canary).includes(name))

/** Whether the revisions have a common name, whose requests test the new one. */
export const sharesNames = ({ namesOf }: RolloutInput, stable: string, canary: string): boolean =>
  namesOf(stable).some((name) => namesOf(canary).includes(name))

const isRollingBack = ({ canary, failed }: RolloutStatus, { target }: RolloutInput): boolean =>
  canary !== undefined && (failed?.revision === canary || canary !== target)

/** Pods that the old revision keeps if there is room: its share of the requests, rounded up. */
function podsKept(input: RolloutInput, { stable, canary, step, weight }: RolloutStatus): number {
  const { desired, rollout } = input
  if (rollout.strategy === 'Recreate') return 0
  if (step < 0 || retiresNames(input, stable ?? '', canary ?? '')) return desired
  return Math.max(Math.min(1, desired), desired - Math.floor((desired * weight) / 100))
}

/** Pods of each revision, the stable one first, so it gets a slot first. */
export function sharePods(state: RolloutStatus, input: RolloutInput): Map<string, number> {
  const { desired, revisions, rollout } = input
  const { stable = input.target, canary } = state
  const others = revisions.filter(({ revision }) => revision !== stable && revision !== canary)
  const none = others.map(({ revision }) => [revision, 0] as const)
  const leaving = countLeaving(input, others)
  const bounds = resolveBounds(rollout, desired)
  const old = observationOf(input, stable)
  if (canary === undefined) {
    // Without another revision a growing pool need not wait for draining pods.
    const free = leaving === 0 ? desired : podsMax(desired, bounds) - leaving - countDraining(old)
    return new Map([[stable, Math.min(desired, Math.max(old.replicas, free))], ...none])
  }
  const fresh = observationOf(input, canary)
  if (isRollingBack(state, input)) {
    const growing = { ...old, goal: desired, hasNoRoom: old.noRoom !== undefined }
    const shrinking = { ...fresh, keep: 0, mayGrow: false }
    const numbers = replacePods({ desired, bounds, growing, shrinking, leaving })
    // Without room an unready canary pod blocks a slot that a stable pod needs.
    const isCramped = old.noRoom !== undefined || fresh.noRoom !== undefined
    const most = isCramped ? Math.max(fresh.ready, fresh.up) : numbers.shrinking
    return new Map([[stable, numbers.growing], [canary, Math.min(numbers.shrinking, most)], ...none])
  }
  const growing = { ...fresh, goal: podsInStep(input, state.step), hasNoRoom: fresh.noRoom !== undefined }
  const shrinking = { ...old, keep: podsKept(input, state), mayGrow: true }
  const numbers = replacePods({ desired, bounds, growing, shrinking, leaving })
  return new Map([[stable, numbers.shrinking], [canary, numbers.growing], ...none])
}

/** Pods of removed revisions. Pods that Kubernetes refuses to remove do not count. */
const countLeaving = ({ state }: RolloutInput, others: RolloutInput['revisions']): number =>
  others
    .filter(({ revision, replicas }) => replicas === 0 || revision === state?.canary || revision === state?.stable)
    .reduce((sum, { pods }) => sum + pods, 0)

/** After the last step comes a final one of 100 %, until all desired pods are ready. */
const weightOf = ({ steps }: PoolRollout, index: number): number => steps[index]?.weight ?? 100

/** The step's weight, limited by its pods: the old revision keeps one until the last step. */
export const fullWeight = (input: RolloutInput, index: number): number =>
  Math.min(weightOf(input.rollout, index), Math.floor((100 * podsInStep(input, index)) / Math.max(1, input.desired)))

/** Weight by ready pods, at most `weight`. 100 if the old revision has no ready pod. */
export function effectiveWeight(input: RolloutInput, weight: number, stable: string): number {
  const { ready } = observationOf(input, input.target)
  const old = observationOf(input, stable)
  if (ready > 0 && old.ready === 0 && old.up === 0) return 100
  const serving = Math.min(input.desired, ready + old.ready)
  return Math.min(weight, Math.floor((100 * ready) / Math.max(1, serving)))
}

const isPromotedIdle = ({ gate }: PoolRollout): boolean => gate.idle === 'promote' || gate.minRequests === 0

/** At zero the pool has no pod for a canary that waits for requests. */
export const isAsleep = ({ desired, rollout }: RolloutInput): boolean =>
  desired === 0 && (rollout.strategy === 'Recreate' || !isPromotedIdle(rollout))

export function podsInStep(input: RolloutInput, index: number): number {
  const { rollout, desired } = input
  if (isAsleep(input)) return 0
  if (rollout.strategy === 'Recreate') return desired
  const weight = weightOf(rollout, index)
  const share = Math.ceil((desired * weight) / 100)
  return index < 0 ? 1 : Math.max(1, weight < 100 ? Math.min(share, desired - 1) : share)
}
