// The way back of a revision that failed, or that nobody asks for any more. Pods that the old one had given away start
// again, and until they are ready the new one keeps as many of its own (`back.kept`) and their part of the images: late in
// a rollout the old revision has one pod left, and images that the new one spoils are tried again in that one
// (`pod-picker.ts`). One that spoils more than one image of ten keeps nothing.
//
// Where the old pods find no room beside the new ones, the pool goes on with the room that it has (`back.tight`): the new
// one gives a tenth of its pods up, one at least; when they have gone as many are asked of the old one; and when those are
// ready the next ones go. So no more than a tenth is missing at a time, whatever a pod takes to end or to start. When a
// tenth brought nothing (others took the room, or the old pods fit nowhere), one more is tried after `gate.readySeconds`,
// and no third. Whatever else keeps the old pods from serving is not mended by giving pods up: the new ones stay until
// somebody mends it. Who asks for a third revision meanwhile has it tried after `gate.readySeconds`: beside the new one,
// where that serves more than the old one, which then goes its way back in turn.
import { toKubeTime } from '../pool/conditions.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { Reason } from '../pool/reasons.ts'
import { isMostlyGood } from './gate.ts'
import {
  elapsedSeconds,
  type Next,
  type RevisionSeen,
  type RolloutInput,
  type RolloutNews,
  type Serving,
  seenOf,
  type Trying,
} from './rollout-input.ts'

/** The state in which nothing is being tried; its time stays while it does. */
export function settled({ state, now }: RolloutInput, stable: string): RolloutStatus {
  const same = state !== undefined && state.stable === stable && state.canary === undefined
  return { stable, weight: 0, step: -1, since: same ? state.since : toKubeTime(now) }
}

/** What is beside the old revision is not being tried any more: it was taken back, or is not asked for. */
export const isComingBack = ({ canary, failed }: RolloutStatus, { target }: RolloutInput): boolean =>
  canary !== undefined && (failed?.revision === canary || canary !== target)

export function rollBack(input: RolloutInput, state: Serving, reason: Reason, what: string): Next {
  const { target, now } = input
  const failed = { revision: target, reason, message: what, time: toKubeTime(now) }
  const message = `Revision ${target} was taken back and ${state.stable} serves on: ${what}.`
  const { state: next } = comeBack(input, { ...state, canary: target, failed })
  return { state: next, why: message, news: { type: 'Warning', reason: 'RolloutRolledBack', message } }
}

/** One look at a revision that is on its way back. `done` is told when it has nothing to do any more. */
export function comeBack(input: RolloutInput, state: Trying, done?: RolloutNews): Next {
  const { stable, canary, failed } = state
  const message = failed?.message ?? ''
  const back = lookBack(input, state)
  if (back.kept === 0) {
    const rest = { ...settled(input, stable), ...(failed && { failed }) }
    return { state: rest, why: message, ...(done && { news: done }) }
  }
  const { lacking: _, reached: __, ...rest } = state
  // The figures of the return begin with it; what it did before is what it was taken back for.
  const since = state.back === undefined ? toKubeTime(input.now) : state.since
  const why = `revision ${canary} gives its images back as pods of ${stable} become ready`
  return {
    state: { ...rest, since, back, weight: weightOfKept(input, state, back.kept) },
    why: message === '' ? why : `${message}; ${why}`,
  }
}

/** Taken up again by the spec before it was gone: its step begins once more. */
export function takeUp({ now }: RolloutInput, state: Serving): Serving {
  const { back, ...rest } = state
  return back === undefined ? state : { ...rest, since: toKubeTime(now) }
}

type Back = NonNullable<RolloutStatus['back']>

function lookBack(input: RolloutInput, state: Trying): Back {
  const { pods } = seenOf(input, state.canary)
  const { ready } = seenOf(input, state.stable)
  const before = state.back
  const wanted = keptPods(input, state)
  const gives = before !== undefined && wanted > 0 && mayGive(input, state, before, wanted)
  const kept = gives ? Math.max(0, wanted - shareThatGoes(input)) : wanted
  const next = {
    kept,
    leaving: Math.max(0, pods - kept),
    tight: gives || before?.tight === true,
    readyBefore: gives ? ready : (before?.readyBefore ?? ready),
  }
  const same = before?.kept === next.kept && before.leaving === next.leaving && before.tight === next.tight
  return { ...next, since: same ? before.since : toKubeTime(input.now) }
}

/** So many are missing at a time at most, as for the pool's disruption budget. */
const shareThatGoes = ({ desired }: RolloutInput): number => Math.max(1, Math.floor(desired / 10))

/** Pods that stay: as many as the old revision's ready ones are too few, never more than before. */
function keptPods(input: RolloutInput, state: Trying): number {
  const { desired, figures } = input
  const { stable, canary, weight, back } = state
  // One without a share never had images. One of which no pod is ready at the moment may have them again in the next.
  if (weight === 0 || !isMostlyGood(figures.get(canary), figures.get(stable))) return 0
  const missing = Math.max(0, desired - seenOf(input, stable).ready)
  return Math.min(back?.kept ?? seenOf(input, canary).replicas, missing)
}

/** Of the images, the part of the pods that stay among all that are ready, as far as they are wanted; in percent. */
function weightOfKept(input: RolloutInput, { stable, canary }: Trying, kept: number): number {
  const { ready } = seenOf(input, canary)
  // When this process alone reaches none, the others go on sending.
  const usable = ready === 0 ? kept : Math.min(kept, ready)
  const serving = Math.min(input.desired, usable + seenOf(input, stable).ready)
  return Math.min(100, Math.ceil((100 * usable) / Math.max(1, serving)))
}

const roomReasons: readonly Reason[] = ['PodUnschedulable', 'QuotaRefused']

/** The scheduler and the quota take a moment to see that a pod has gone. */
const roomSeconds = 10

/** Nothing of either revision is on its way, and what the old one has room for is ready, or has found none. */
function mayGive(input: RolloutInput, state: Trying, back: Back, kept: number): boolean {
  const { desired, rollout } = input
  const { readySeconds } = rollout.gate
  const stable = seenOf(input, state.stable)
  const seconds = elapsedSeconds(input, back)
  if (seenOf(input, state.canary).pods > kept || (stable.coming > 0 && seconds < readySeconds)) return false
  if (back.tight && stable.ready >= askedOfStable(input, state)) return true
  if (isThirdAsked(input, state) && seconds >= readySeconds) return true
  if (!isWithoutRoom(stable)) return false
  const share = shareThatGoes(input)
  const isBarren = back.tight && stable.ready <= back.readyBefore
  if (isBarren && stable.ready + kept - share < desired - 2 * share) return false
  const isLast = stable.ready === 0 && kept <= share
  return seconds >= (isBarren || isLast ? readySeconds : roomSeconds)
}

const isThirdAsked = ({ target }: RolloutInput, { stable, canary }: Trying): boolean =>
  target !== stable && target !== canary

const isWithoutRoom = ({ problem }: RevisionSeen): boolean =>
  problem !== undefined && roomReasons.includes(problem.reason)

/** Pods asked of the old revision while another one is on its way back. */
export function askedOfStable(input: RolloutInput, { stable, canary, back }: RolloutStatus): number {
  const { desired } = input
  if (stable === undefined || canary === undefined || back?.tight !== true) return desired
  const { ready, coming } = seenOf(input, stable)
  // A change of the number is also what makes Kubernetes try again at once where a quota had refused.
  return Math.min(desired, Math.max(ready + coming, desired - seenOf(input, canary).pods))
}

/**
 * For long the old revision has not come back, and the new one serves more than it: who asks for a third one has it tried
 * beside that. The parts are changed, so that the old one goes its way back as the new one's pods become ready.
 */
export function changeParts(input: RolloutInput, state: Trying): Serving | undefined {
  const { stable, canary, back, weight } = state
  const old = seenOf(input, stable)
  const fresh = seenOf(input, canary)
  if (back === undefined || fresh.ready <= old.ready || keptPods(input, state) === 0) return undefined
  if (elapsedSeconds(input, back) < input.rollout.gate.readySeconds) return undefined
  const since = toKubeTime(input.now)
  return {
    stable: canary,
    canary: stable,
    weight: Math.max(1, 100 - weight),
    step: state.step,
    since,
    back: { kept: old.ready, leaving: 0, tight: false, readyBefore: fresh.ready, since },
  }
}
