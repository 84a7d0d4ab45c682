// Rollback of a canary: a rollout in the other direction (pod-numbers.ts). A canary whose pods fail, or that fails more
// than a tenth of its requests, keeps no pod.
import { toKubeTime } from '../pool/conditions.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { Reason } from '../pool/reasons.ts'
import { isMostlyGood } from './gate.ts'
import {
  buildSettledState,
  elapsedSeconds,
  isOwnFailure,
  isWithoutRoom,
  type Next,
  observationOf,
  type RolloutEvent,
  type RolloutInput,
  type Serving,
  shortfallOf,
  type Trying,
  waitFor,
} from './rollout-decision.ts'
import { sharePods } from './share-pods.ts'

type Failure = { readonly reason: Reason; readonly what: string }

export function fail(input: RolloutInput, state: Serving, { reason, what }: Failure): Next {
  const { target, now } = input
  const failed = { revision: target, reason, message: what, time: toKubeTime(now) }
  const message = `Revision ${target} is rolled back and ${state.stable} keeps serving: ${what}.`
  const begun = { ...state, canary: target, failed, since: toKubeTime(now) }
  const { state: next } = rollBack(input, begun)
  return { state: next, why: message, event: { type: 'Warning', reason: 'RolloutRolledBack', message } }
}

export function rollBack(input: RolloutInput, before: Trying, done?: RolloutEvent): Next {
  const { shortfall, weightReached: _, ...state } = before
  const { stable, canary, failed } = state
  const kept = serves(input, state) ? (sharePods(state, input).get(canary) ?? 0) : 0
  if (kept === 0) {
    const end = { ...buildSettledState(input, stable), ...(failed && { failed }) }
    return { state: end, why: failed?.message ?? '', ...(done && { event: done }) }
  }
  const old = observationOf(input, stable)
  const why = `requests move back from ${canary} to ${stable} as its pods become ready`
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

/** False if it never had requests, fails many of them, or has no ready pod by its own fault. */
function serves(input: RolloutInput, { stable, canary, weight }: Trying): boolean {
  const { ready, up, problem } = observationOf(input, canary)
  const isDown = ready === 0 && up === 0 && isOwnFailure(problem)
  return weight > 0 && !isDown && isMostlyGood(input.counts.get(canary), input.counts.get(stable))
}

export const isStuck = (input: RolloutInput, { shortfall, stable }: RolloutStatus): boolean =>
  shortfall !== undefined &&
  shortfall.revision === stable &&
  elapsedSeconds(input, shortfall) >= input.rollout.gate.readySeconds

/** Share of the kept pods in all ready pods, up to the desired number, in percent. */
function weightOfKept(input: RolloutInput, { stable, canary }: Trying, kept: number): number {
  const { ready } = observationOf(input, canary)
  // Other workers may still reach pods that this process does not.
  const usable = ready === 0 ? kept : Math.min(kept, ready)
  const serving = Math.min(input.desired, usable + observationOf(input, stable).ready)
  return Math.min(100, Math.ceil((100 * usable) / Math.max(1, serving)))
}
