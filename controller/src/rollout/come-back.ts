// The way back of a revision that failed, or that nobody asks for any more. Pods that the old one had given away start
// again, and until they are ready the new one keeps as many of the images as they cannot take: late in a rollout the old
// revision has one pod left, and images that the new one spoils are tried again in that one (`pod-picker.ts`). One
// that spoils more than one image of ten, or has no pod to take any, keeps nothing. Where there is no room for the old
// revision's pods beside the new one's, those go one by one.
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
  const { lacking: _, ...kept } = state
  const { state: next } = comeBack(input, { ...kept, canary: target, since: toKubeTime(now), failed })
  return { state: next, why: message, news: { type: 'Warning', reason: 'RolloutRolledBack', message } }
}

/** One look at a revision that is on its way back. `done` is told when it has nothing to do any more. */
export function comeBack(input: RolloutInput, state: Trying, done?: RolloutNews): Next {
  const { stable, canary, failed } = state
  const weight = keptWeight(input, state)
  const message = failed?.message ?? ''
  if (weight === 0) {
    const rest = { ...settled(input, stable), ...(failed && { failed }) }
    return { state: rest, why: message, ...(done && { news: done }) }
  }
  const given = weightWithoutOne(input, state)
  const next = isStuck(input, state)
    ? { ...state, weight: Math.min(weight, given), since: toKubeTime(input.now) }
    : { ...state, weight }
  const why = `revision ${canary} gives its images back as pods of ${stable} become ready`
  return { state: next, why: message === '' ? why : `${message}; ${why}` }
}

/** The share of the images that the old revision's ready pods are too few for, never more than before; in percent. */
function keptWeight(input: RolloutInput, { stable, canary, weight }: Trying): number {
  const { desired, figures, rollout } = input
  if (seenOf(input, canary).ready === 0 || !isMostlyGood(figures.get(canary), rollout.gate)) return 0
  const missing = Math.max(0, desired - seenOf(input, stable).ready)
  return Math.min(weight, Math.floor((100 * missing) / Math.max(1, desired)))
}

/** A pod that is given up makes room for one of the old revision, which takes some time to start in it. */
const roomEverySeconds = 10

/** Pods of the old revision do not come, as where a quota or the nodes have no room beside the new one's. */
function isStuck(input: RolloutInput, state: Trying): boolean {
  const hindered = seenOf(input, state.stable).problem !== undefined
  return elapsedSeconds(input, state) >= (hindered ? roomEverySeconds : input.rollout.gate.readySeconds)
}

/** What is left of its share when it gives one of its pods up. */
const weightWithoutOne = (input: RolloutInput, { canary }: Trying): number =>
  Math.floor((100 * (seenOf(input, canary).ready - 1)) / Math.max(1, input.desired))
