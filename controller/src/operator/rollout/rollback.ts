// The rollback of a canary: the rule of a rollout with the other target (pods/pod-numbers.ts). A canary that fails by
// itself, or fails more than a tenth of its requests, keeps no pod.
import { toKubeTime } from '../pool/conditions.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { Reason } from '../pool/reasons.ts'
import { isMostlyGood } from './gate.ts'
import { isOwnFailure } from './own-failure.ts'
import { sharePods } from './pods/share-pods.ts'
import { buildSettledState, elapsedSeconds, observationOf, type RolloutInput } from './rollout-input.ts'
import type { Next, RolloutEvent, Serving, Trying } from './rollout-plan.ts'
import { isWithoutRoom, shortfallOf, waitFor } from './wait.ts'

type Failure = { readonly reason: Reason; readonly what: string }

/** It is not tried again until the spec or the annotation matte.dev/retry asks for it. */
export function fail(input: RolloutInput, state: Serving, { reason, what }: Failure): Next {
  const { target, now } = input
  const failed = { revision: target, reason, message: what, time: toKubeTime(now) }
  const message = `Revision ${target} is rolled back and ${state.stable} keeps serving: ${what}.`
  const begun = { ...state, canary: target, failed, since: toKubeTime(now) }
  const { state: next } = rollBack(input, begun)
  return { state: next, why: message, event: { type: 'Warning', reason: 'RolloutRolledBack', message } }
}

/** One pass of a rollback; `done` is emitted with its end. */
export function rollBack(input: RolloutInput, before: Trying, done?: RolloutEvent): Next {
  const { shortfall, weightReached: _, ...state } = before
  const { stable, canary, failed } = state
  const kept = serves(input, state) ? (sharePods(state, input).get(canary) ?? 0) : 0
  if (kept === 0) {
    const end = { ...buildSettledState(input, stable), ...(failed && { failed }) }
    return { state: end, why: failed?.message ?? '', ...(done && { event: done }) }
  }
  const old = observationOf(input, stable)
  const why = `revision ${canary} gives its requests back as pods of ${stable} become ready`
  return {
    state: {
      ...state,
      weight: weightOfKept(input, state, kept),
      shortfall: shortfallOf(input, shortfall, { revision: stable, ready: old.ready }),
      ...(isWithoutRoom(old) && waitFor(input, 'Room')),
    },
    why: failed ? `${failed.message}; ${why}` : why,
  }
}

/** False: it never had requests, fails many of them, or has no ready pod by its own doing. */
function serves(input: RolloutInput, { stable, canary, weight }: Trying): boolean {
  const { ready, up, problem } = observationOf(input, canary)
  const isDown = ready === 0 && up === 0 && isOwnFailure(problem)
  return weight > 0 && !isDown && isMostlyGood(input.counts.get(canary), input.counts.get(stable))
}

/** It waits without success: no stable pod has become ready for so long. */
export const isStuck = (input: RolloutInput, { shortfall, stable }: RolloutStatus): boolean =>
  shortfall !== undefined &&
  shortfall.revision === stable &&
  elapsedSeconds(input, shortfall) >= input.rollout.gate.readySeconds

/** The part of the pods that stay among all that are ready, as far as they are wanted, in percent. */
function weightOfKept(input: RolloutInput, { stable, canary }: Trying, kept: number): number {
  const { ready } = observationOf(input, canary)
  // If this process alone reaches none, the others go on sending.
  const usable = ready === 0 ? kept : Math.min(kept, ready)
  const serving = Math.min(input.desired, usable + observationOf(input, stable).ready)
  return Math.min(100, Math.ceil((100 * usable) / Math.max(1, serving)))
}
