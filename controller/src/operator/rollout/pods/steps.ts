// Pods of the canary in each step, and its share of the requests.
import type { PoolRollout } from '../../pool/pool-spec.ts'
import { observationOf, type RolloutInput } from '../rollout-input.ts'

/** Behind the last step comes one with everything, until as many pods are ready as are wanted. */
const weightOf = ({ steps }: PoolRollout, index: number): number => steps[index]?.weight ?? 100

/** The step's share of the requests, as far as its pods go: the old revision keeps one until the last step. */
export const fullWeight = (input: RolloutInput, index: number): number =>
  Math.min(weightOf(input.rollout, index), Math.floor((100 * podsInStep(input, index)) / Math.max(1, input.desired)))

/**
 * The step's share, or less: of the pods that are ready and wanted, a new one gets its part of the requests alone. All
 * requests if the old revision has no ready pod, for instance because its only one made room.
 */
export function effectiveWeight(input: RolloutInput, weight: number, stable: string): number {
  const { ready } = observationOf(input, input.target)
  const old = observationOf(input, stable)
  if (ready > 0 && old.ready === 0 && old.up === 0) return 100
  const serving = Math.min(input.desired, ready + old.ready)
  return Math.min(weight, Math.floor((100 * ready) / Math.max(1, serving)))
}

/** Whether a revision may be promoted without requests: the spec says so explicitly. */
const isPromotedIdle = ({ gate }: PoolRollout): boolean => gate.idle === 'promote' || gate.minRequests === 0

/** A pool at zero holds no pod for a canary that waits for requests. */
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
