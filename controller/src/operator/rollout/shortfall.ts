// A canary with fewer ready pods than its step needs: it waits, starts over or fails.
import { toKubeTime } from '../pool/conditions.ts'
import { loadReasons, type Reason } from '../pool/reasons.ts'
import { fail } from './rollback.ts'
import {
  elapsedSeconds,
  isOwnFailure,
  isWithoutRoom,
  type Next,
  type RevisionObservation,
  type RolloutInput,
  type Serving,
  shortfallOf,
  waitFor,
} from './rollout-decision.ts'
import { effectiveWeight, fullWeight, podsInStep, sharePods } from './share-pods.ts'

type Problem = RevisionObservation['problem']

export const notReadyReason = (problem: Problem): Reason =>
  problem && loadReasons.includes(problem.reason) ? 'CanaryLoadFailed' : 'CanaryNotReady'

export const becauseOf = (problem: Problem): string => (problem ? `: ${problem.message.replace(/\.$/, '')}` : '')

/** A short loss of all ready pods is more often a network fault than their own. */
const blinkSeconds = 10

/** Missing pods get `readySeconds` each. Pods that Kubernetes reports ready keep their weight. */
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
  // The replacement rule delays further pods until old ones are gone.
  const asked = sharePods({ ...rest, weight, canary: target }, input).get(target) ?? 0
  if (ready > 0 && asked <= ready) return { state: { ...rest, weight }, why }
  const { readySeconds } = rollout.gate
  if (elapsedSeconds(input, shortfall) > readySeconds) {
    const what = `${missing} of its pods were not ready within ${readySeconds} s${becauseOf(problem)}`
    return fail(input, state, { reason: notReadyReason(problem), what })
  }
  return { state: { ...rest, weight, shortfall }, why }
}

/** A lost node may take the pods along once; losing all pods this often is the revision's fault. */
const setbacksMax = 3

function startOver(input: RolloutInput, state: Serving, { problem }: RevisionObservation): Next {
  if (isOwnFailure(problem)) {
    return fail(input, state, { reason: 'CanaryNotReady', what: `its pods are no longer ready${becauseOf(problem)}` })
  }
  const setbacks = (state.setbacks ?? 0) + 1
  if (setbacks > setbacksMax) {
    const lost = { ...state, weight: 0 }
    return fail(input, lost, { reason: 'CanaryNotReady', what: `it lost its ready pods ${setbacks} times` })
  }
  const why = `revision ${input.target} has lost its ready pods and starts over`
  const { shortfall: _, weightReached: __, ...rest } = state
  return { state: { ...rest, weight: 0, step: -1, since: toKubeTime(input.now), setbacks }, why }
}
