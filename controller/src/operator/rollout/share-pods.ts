// How many pods each revision gets, and how many of the requests the new one.
import type { PoolRollout } from '../pool/pool-spec.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { isRollingBack, podsInRollback } from './rollback.ts'
import { observationOf, type RolloutInput } from './rollout-input.ts'

/** Behind the last step comes one with everything, until as many pods are ready as are wanted. */
export const weightOf = ({ steps }: PoolRollout, index: number): number => steps[index]?.weight ?? 100

/** The step's share, or less: of the pods that are ready and wanted, a new one gets its part of the requests alone. */
export function effectiveWeight(input: RolloutInput, weight: number, stable: string): number {
  const { ready } = observationOf(input, input.target)
  const serving = Math.min(input.desired, ready + observationOf(input, stable).ready)
  return Math.min(weight, Math.floor((100 * ready) / Math.max(1, serving)))
}

export const podsInStep = ({ rollout, desired }: RolloutInput, index: number): number =>
  index < 0 ? 1 : Math.max(1, Math.ceil((desired * weightOf(rollout, index)) / 100))

/** Some name of the old revision is not the new one's: who asks for it asks the old one until the promotion. */
const retiresNames = ({ namesOf }: RolloutInput, stable: string, canary: string): boolean =>
  namesOf(stable).some((name) => !namesOf(canary).includes(name))

/** Some name is answered for by both: its requests are what the new revision is tried with. */
export const sharesNames = ({ namesOf }: RolloutInput, stable: string, canary: string): boolean =>
  namesOf(stable).some((name) => namesOf(canary).includes(name))

/**
 * Pods of each revision. The old one gives way only to new pods that are ready and that can do its work, and no further
 * than the share that they get, which is rounded: so capacity never falls. It keeps one until the promotion: a rollout
 * needs room for the pods that are starting, not for the pool twice.
 */
export function sharePods(state: RolloutStatus, input: RolloutInput): Map<string, number> {
  const { desired, revisions } = input
  const shares = new Map(revisions.map(({ revision }) => [revision, 0]))
  const { stable = input.target, canary } = state
  if (canary === undefined) return shares.set(stable, desired)
  if (isRollingBack(state, input)) {
    const { stable: old, canary: kept } = podsInRollback(input, { ...state, stable, canary })
    return shares.set(stable, old).set(canary, kept)
  }
  const canaryPods = podsInStep(input, state.step)
  const gives = state.step >= 0 && !retiresNames(input, stable, canary)
  const given = gives ? Math.min(observationOf(input, canary).ready, Math.floor((desired * state.weight) / 100)) : 0
  return shares.set(stable, Math.max(desired - given, Math.min(1, desired))).set(canary, canaryPods)
}
