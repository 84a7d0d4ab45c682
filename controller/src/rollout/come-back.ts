// The way back of a revision that failed, or that nobody asks for any more. Pods that the old one had given away start
// again, and until they are ready the new one keeps as many of its own (`kept`) and their part of the images: late in a
// rollout the old revision has one pod left, and images that the new one spoils are tried again in that one
// (`pod-picker.ts`). One that spoils more than one image of ten, or has no pod to take any, keeps nothing. Where there is
// no room for the old revision's pods beside the new one's, those go one by one, each when the one before it is replaced.
import { type Reason, toKubeTime } from '../pool/conditions.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { isMostlyGood } from './gate.ts'
import {
  elapsedSeconds,
  type Next,
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
  const before = state.kept ?? seenOf(input, canary).replicas
  const kept = keptPods(input, state, before)
  if (kept === 0) {
    const rest = { ...settled(input, stable), ...(failed && { failed }) }
    return { state: rest, why: message, ...(done && { news: done }) }
  }
  // The time of the step is over with its first look here; after that it is that of the last pod that went.
  const since = state.kept === kept ? state.since : toKubeTime(input.now)
  const { lacking: _, reached: __, ...rest } = state
  const why = `revision ${canary} gives its images back as pods of ${stable} become ready`
  return {
    state: { ...rest, kept, since, weight: weightOfKept(input, state, kept) },
    why: message === '' ? why : `${message}; ${why}`,
  }
}

/** Taken up again by the spec before it was gone: its step begins once more. */
export function takeUp({ now }: RolloutInput, state: Serving): Serving {
  const { kept, ...rest } = state
  return kept === undefined ? state : { ...rest, since: toKubeTime(now) }
}

/** Pods that stay: as many as the old revision's ready ones are too few, never more than before. */
function keptPods(input: RolloutInput, state: Trying, before: number): number {
  const { desired, figures, rollout } = input
  const { ready } = seenOf(input, state.canary)
  if (ready === 0 || !isMostlyGood(figures.get(state.canary), rollout.gate)) return 0
  const missing = Math.max(0, desired - seenOf(input, state.stable).ready)
  const kept = Math.min(before, missing)
  if (kept === 0 || state.kept === undefined || !isStuck(input, state, kept)) return kept
  // Those that take no images make room as well as any.
  return ready < kept ? ready : kept - 1
}

/** Of the images, the part of the pods that stay among all that are ready, and never more than before; in percent. */
function weightOfKept(input: RolloutInput, { stable, canary, weight }: Trying, kept: number): number {
  const usable = Math.min(kept, seenOf(input, canary).ready)
  const serving = Math.min(input.desired, usable + seenOf(input, stable).ready)
  return Math.min(weight, Math.ceil((100 * usable) / Math.max(1, serving)))
}

/** So long a look may be behind the world: a pod that is given up makes room that the scheduler has yet to see. */
const roomEverySeconds = 10

/**
 * Pods of the old revision do not come, as where a quota or the nodes have no room beside the new one's. What was given up
 * last is replaced when as many are ready as are wanted; otherwise its place has half as long again as a start takes.
 */
function isStuck(input: RolloutInput, state: Trying, kept: number): boolean {
  const { desired, startSeconds, rollout } = input
  const stable = seenOf(input, state.stable)
  const seconds = elapsedSeconds(input, state)
  if (stable.problem === undefined) return seconds >= rollout.gate.readySeconds
  const isReplaced = stable.ready + Math.min(kept, seenOf(input, state.canary).ready) >= desired
  return seconds >= (isReplaced ? roomEverySeconds : Math.max(roomEverySeconds, 1.5 * startSeconds))
}
