// The rollback of a canary, by a Deployment's own rule: at most a tenth of the pods (one at least) is missing, and both
// revisions together have no more than are wanted, so it needs no room of its own.
import { toKubeTime } from '../pool/conditions.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { Reason } from '../pool/reasons.ts'
import { isMostlyGood } from './gate.ts'
import { isOwnFailure } from './own-failure.ts'
import { buildSettledState, elapsedSeconds, observationOf, type RolloutInput } from './rollout-input.ts'
import type { Next, RolloutEvent, Serving, Trying } from './rollout-plan.ts'

/** The canary has failed, or the spec no longer asks for it. */
export const isRollingBack = ({ canary, failed }: RolloutStatus, { target }: RolloutInput): boolean =>
  canary !== undefined && (failed?.revision === canary || canary !== target)

type Failure = { readonly reason: Reason; readonly what: string }

/** It is not tried again until the spec changes. */
export function fail(input: RolloutInput, state: Serving, { reason, what }: Failure): Next {
  const { target, now } = input
  const failed = { revision: target, reason, message: what, time: toKubeTime(now) }
  const message = `Revision ${target} is rolled back and ${state.stable} keeps serving: ${what}.`
  const { state: next } = rollBack(input, { ...state, canary: target, failed })
  return { state: next, why: message, event: { type: 'Warning', reason: 'RolloutRolledBack', message } }
}

/** One pass of a rollback; `done` is emitted with its end. */
export function rollBack(input: RolloutInput, before: Trying, done?: RolloutEvent): Next {
  const state = { ...before, capacity: before.capacity ?? countPlaced(input, before) }
  const { stable, canary, failed } = state
  const kept = keptPods(input, state)
  if (kept === 0) {
    const end = { ...buildSettledState(input, stable), ...(failed && { failed }) }
    return { state: end, why: failed?.message ?? '', ...(done && { event: done }) }
  }
  // A number that Kubernetes refuses to take is asked for in each pass, and is no progress.
  const moves = before.kept === undefined || kept < Math.min(before.kept, observationOf(input, canary).replicas)
  const since = moves ? toKubeTime(input.now) : state.since
  const { shortfall: _, weightReached: __, ...rest } = state
  const why = `revision ${canary} gives its requests back as pods of ${stable} become ready`
  return {
    state: { ...rest, since, kept, weight: weightOfKept(input, state, kept) },
    why: failed ? `${failed.message}; ${why}` : why,
  }
}

/** The stable revision is asked for one pod at least, and for no fewer than have a node. */
export function podsInRollback(input: RolloutInput, state: Trying) {
  const { desired } = input
  const { ready, coming } = observationOf(input, state.stable)
  const asked = Math.max(1, ready + coming, desired - observationOf(input, state.canary).pods)
  return { stable: Math.min(desired, asked), canary: keptPods(input, state) }
}

/** It waits without success: nothing has been given up for so long. */
export const isStuck = (input: RolloutInput, { capacity, since }: RolloutStatus): boolean =>
  capacity !== undefined && elapsedSeconds(input, { since }) >= input.rollout.gate.readySeconds

/** A pool that has no room for all pods that it wants keeps a tenth less than it had room for. */
function countPlaced(input: RolloutInput, { stable, canary }: Trying): number {
  const [old, fresh] = [observationOf(input, stable), observationOf(input, canary)]
  return old.ready + old.coming + fresh.ready + fresh.coming
}

/** Never more than before: its Deployment remembers how many. */
function keptPods(input: RolloutInput, state: Trying): number {
  const { stable, canary, weight, capacity = 0 } = state
  // One without a share never had requests.
  if (weight === 0 || !isMostlyGood(input.counts.get(canary), input.counts.get(stable))) return 0
  const old = observationOf(input, stable)
  const serving = Math.min(input.desired, capacity)
  const least = serving - Math.max(1, Math.floor(serving / 10))
  const isWithoutRoom = old.problem?.reason === 'PodUnschedulable' || old.problem?.reason === 'QuotaRefused'
  // The last pod of the pool goes only for one that is ready, or when the two have no room beside each other.
  const last = old.ready === 0 && !(isWithoutRoom && isStuck(input, state)) ? 1 : 0
  const { replicas, ready, up, problem } = observationOf(input, canary)
  // Pods that fail by themselves serve nothing.
  return Math.min(isOwnFailure(problem) ? Math.max(ready, up) : replicas, serving, Math.max(last, least - old.ready))
}

/** The part of the pods that stay among all that are ready, as far as they are wanted, in percent. */
function weightOfKept(input: RolloutInput, { stable, canary }: Trying, kept: number): number {
  const { ready } = observationOf(input, canary)
  // When this process alone reaches none, the others go on sending.
  const usable = ready === 0 ? kept : Math.min(kept, ready)
  const serving = Math.min(input.desired, usable + observationOf(input, stable).ready)
  return Math.min(100, Math.ceil((100 * usable) / Math.max(1, serving)))
}
