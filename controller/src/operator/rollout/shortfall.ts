// A canary with fewer ready pods than its step needs: it is waited for, starts over, or has failed.
import { toKubeTime } from '../pool/conditions.ts'
import { loadReasons, type Reason } from '../pool/reasons.ts'
import { isOwnFailure } from './own-failure.ts'
import { sharePods } from './pods/share-pods.ts'
import { effectiveWeight, fullWeight, podsInStep } from './pods/steps.ts'
import { fail } from './rollback.ts'
import { elapsedSeconds, type RevisionObservation, type RolloutInput } from './rollout-input.ts'
import type { Next, Serving } from './rollout-plan.ts'
import { isWithoutRoom, shortfallOf, waitFor } from './wait.ts'

type Problem = RevisionObservation['problem']

export const notReadyReason = (problem: Problem): Reason =>
  problem && loadReasons.includes(problem.reason) ? 'CanaryLoadFailed' : 'CanaryNotReady'

export const becauseOf = (problem: Problem): string => (problem ? `: ${problem.message.replace(/\.$/, '')}` : '')

/** Pods that are not ready for a moment, all at once, are more often a network's doing than their own. */
const blinkSeconds = 10

/**
 * Pods of this step are still to come, or are gone for a moment. They have `readySeconds`, again with each that comes;
 * the time without room for one does not count. If Kubernetes calls some ready and this process reaches none, their
 * requests go elsewhere as it is.
 */
export function waitForPods(input: RolloutInput, state: Serving, canary: RevisionObservation): Next {
  const { target, rollout } = input
  const { ready, up, pods, problem, noRoom } = canary
  const { shortfall: before, ...rest } = state
  const missing = podsInStep(input, state.step) - ready
  const weight = ready === 0 ? state.weight : effectiveWeight(input, fullWeight(input, state.step), state.stable)
  const why = `revision ${target} waits for ${missing} more ready pods${becauseOf(problem ?? noRoom)}`
  const shortfall = shortfallOf(input, before, { revision: target, ready })
  const isGone = pods === 0 || isOwnFailure(problem) || elapsedSeconds(input, shortfall) >= blinkSeconds
  if (ready === 0 && up === 0 && isGone) return startOver(input, state, canary)
  if (ready > 0 && isWithoutRoom(canary)) {
    return { state: { ...rest, weight, ...waitFor(input, 'Room') }, why }
  }
  // The rule lets no more pods start before old ones have gone.
  const asked = sharePods({ ...rest, weight, canary: target }, input).get(target) ?? 0
  if (ready > 0 && asked <= ready) return { state: { ...rest, weight }, why }
  const { readySeconds } = rollout.gate
  if (elapsedSeconds(input, shortfall) > readySeconds) {
    const what = `${missing} of its pods were not ready within ${readySeconds} s${becauseOf(problem)}`
    return fail(input, state, { reason: notReadyReason(problem), what })
  }
  return { state: { ...rest, weight, shortfall }, why }
}

/** A node goes, and a pod with it; one that loses all its pods so often does so by its own doing. */
const setbacksMax = 3

/** It had ready pods and has none. */
function startOver(input: RolloutInput, state: Serving, { problem }: RevisionObservation): Next {
  if (isOwnFailure(problem)) {
    return fail(input, state, { reason: 'CanaryNotReady', what: `its pods are no longer ready${becauseOf(problem)}` })
  }
  const setbacks = (state.setbacks ?? 0) + 1
  if (setbacks > setbacksMax) {
    // It serves nothing, so nothing of it is kept.
    const lost = { ...state, weight: 0 }
    return fail(input, lost, { reason: 'CanaryNotReady', what: `it lost its ready pods ${setbacks} times` })
  }
  const why = `revision ${input.target} has lost its ready pods and starts over`
  const { shortfall: _, weightReached: __, ...rest } = state
  return { state: { ...rest, weight: 0, step: -1, since: toKubeTime(input.now), setbacks }, why }
}
