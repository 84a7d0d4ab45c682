// What a changed pool does next: a pure step from what status remembers and what is seen to the next state and the pods
// of each revision. The state is written before it is acted on, so a leader that dies between the two is followed by
// one that goes on from the same place.
//
//   starting ──a pod ready──► step 0 ──held, judged──► step 1 … ──► everything ──all ready──► promoted
//      │  (weight 0, one pod)     │  (weight of the step)               │
//      └──────────────── not ready in time, errors, too slow ───────────┴──► rolled back, until the spec changes
//
// A pool at zero has nobody to notice: the new revision starts one pod, and when that is ready it is promoted and let go.
//
// What no longer goes on is rolled back with its capacity: see rollback.ts.
import { toKubeTime } from '../pool/conditions.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import type { Reason } from '../pool/reasons.ts'
import { describeGate, findBreach, isSeenEnough } from './gate.ts'
import { fail, isStuck, rollBack, settled } from './rollback.ts'
import {
  elapsedSeconds,
  type Next,
  type RevisionSeen,
  type RolloutInput,
  type RolloutPlan,
  type Serving,
  seenOf,
} from './rollout-input.ts'
import { effectiveWeight, podsInStep, sharePods, sharesNames, weightOf } from './share-pods.ts'

export function planRollout(input: RolloutInput): RolloutPlan {
  const { state, why, news } = advance(input)
  const pods = sharePods(state, input)
  const leftover = input.revisions.filter((seen) => seen.pods === 0 && seen.replicas === 0 && !isUsed(seen, state))
  return { state, pods, leftover: leftover.map(({ revision }) => revision), why, ...(news && { news }) }
}

const isUsed = ({ revision }: RevisionSeen, { stable, canary }: RolloutStatus): boolean =>
  revision === stable || revision === canary

function advance(input: RolloutInput): Next {
  const { target, state } = input
  const stable = stableOf(input)
  if (stable === target) return settleOn(input, stable)
  const failed = state?.failed
  if (failed?.revision === target) {
    if (state?.canary === target && state.stable === stable)
      return rollBack(input, { ...state, stable, canary: target })
    return { state: { ...settled(input, stable), failed }, why: failed.message }
  }
  if (state?.canary !== target || state.stable !== stable) return replace(input, stable)
  const { capacity, ...rest } = state
  // Asked for again before it was gone: its step begins once more.
  const going = { ...rest, stable, since: capacity === undefined ? state.since : toKubeTime(input.now) }
  return going.step < 0 ? start(input, going) : step(input, going)
}

/**
 * The revision that serves. Without a memory of it (a new pool, or a status that was lost), or when its Deployment was
 * deleted by somebody, it is the one with most ready pods, of equals the wanted one. Of a new pool it is the wanted one,
 * which has nothing to be compared with.
 */
function stableOf({ state, revisions, target }: RolloutInput): string {
  const exists = (revision: string): boolean => revisions.some((seen) => seen.revision === revision)
  if (state?.stable !== undefined && (state.stable === target || exists(state.stable))) return state.stable
  const order = (seen: RevisionSeen): number => seen.ready + (seen.revision === target ? 0.5 : 0)
  return revisions.filter(({ ready }) => ready > 0).sort((a, b) => order(b) - order(a))[0]?.revision ?? target
}

function settleOn(input: RolloutInput, stable: string): Next {
  const { state } = input
  const dropped = state?.canary
  if (dropped === undefined || dropped === stable) return { state: settled(input, stable), why: '' }
  const message = `Revision ${dropped} is withdrawn: the spec asks for ${stable} again, which has served all along.`
  const news = { type: 'Normal', reason: 'RolloutWithdrawn', message } as const
  return rollBack(input, { ...(state ?? settled(input, stable)), stable, canary: dropped }, news)
}

/**
 * What is being tried, or rolled back, gives its requests back before the next one is tried: they may be most of them.
 * When that does not go on, the revision that serves more is kept, so that no change of the spec waits forever.
 */
function replace(input: RolloutInput, stable: string): Next {
  const { state } = input
  if (state?.canary === undefined || state.stable !== stable) return begin(input, stable)
  const { canary } = state
  const next = rollBack(input, { ...state, stable, canary })
  if (next.state.canary === undefined) return begin(input, stable)
  if (!isStuck(input, next.state)) return next
  return begin(input, seenOf(input, canary).ready > seenOf(input, stable).ready ? canary : stable)
}

function begin(input: RolloutInput, stable: string): Next {
  const { target, now, state } = input
  const others = [state?.stable, state?.canary].filter((revision) => revision !== undefined && revision !== stable)
  const replaced = others.map((revision) => ` in place of ${revision}, which is given up`).join('')
  const message = `Revision ${target} is tried beside ${stable}${replaced}: one pod first, without images until it is ready.`
  return {
    state: { stable, canary: target, weight: 0, step: -1, since: toKubeTime(now) },
    why: `revision ${target} is starting`,
    news: { type: 'Normal', reason: 'RolloutStarted', message },
  }
}

const loadProblems: readonly Reason[] = ['ModelLoadFailed', 'ModelShapeWrong', 'ChecksumMismatch', 'SourceMissing']

/** Until its first pod is ready. What is wrong is shown at once (`BlockedByFailedLoad`) and given time to mend. */
function start(input: RolloutInput, state: Serving): Next {
  const { target, rollout } = input
  const { ready, problem } = seenOf(input, target)
  if (ready > 0) return firstReady(input, state)
  const { readySeconds } = rollout.gate
  if (elapsedSeconds(input, state) <= readySeconds) {
    return { state: { ...state, weight: 0 }, why: problem?.message ?? `revision ${target} has no ready pod yet` }
  }
  return fail(input, state, notReadyReason(problem), `no pod was ready within ${readySeconds} s${becauseOf(problem)}`)
}

function firstReady(input: RolloutInput, state: Serving): Next {
  const { desired } = input
  const stable = seenOf(input, state.stable)
  if (desired === 0) return promote(input, state, 'It is ready, and the pool is at zero: there is nobody to notice.')
  if (stable.ready === 0 && stable.up === 0 && stable.problem !== undefined) {
    return promote(input, state, `It is ready, and ${state.stable} is not: ${stable.problem.message}`)
  }
  // Nobody can ask the new revision for anything before it serves, so there is nothing to watch in steps.
  if (!sharesNames(input, state.stable, input.target)) return enter(input, state, input.rollout.steps.length)
  return enter(input, state, 0)
}

function enter(input: RolloutInput, state: Serving, index: number): Next {
  const { target, rollout, now } = input
  const weight = effectiveWeight(input, weightOf(rollout, index), state.stable)
  const hold = rollout.steps[index]?.durationSeconds
  const message =
    hold === undefined
      ? `Revision ${target} takes over from ${state.stable}: all images as its pods become ready.`
      : `Revision ${target} gets ${weightOf(rollout, index)} % of the images for ${hold} s.`
  const { lacking: _, reached: __, ...kept } = state
  const reached = weight === weightOf(rollout, index) && { reached: true }
  return {
    state: { ...kept, canary: target, weight, step: index, since: toKubeTime(now), ...reached },
    why: message,
    news: { type: 'Normal', reason: 'RolloutStep', message },
  }
}

function step(input: RolloutInput, state: Serving): Next {
  const { target, rollout, figures, desired } = input
  const canary = seenOf(input, target)
  const judged = { canary: figures.get(target), stable: figures.get(state.stable), gate: rollout.gate }
  const breach = findBreach(judged)
  if (breach) return fail(input, state, breach.reason, breach.message)
  if (canary.problem?.reason === 'PodCrashing') {
    return fail(input, state, 'CanaryNotReady', `a pod of it does not stay up${becauseOf(canary.problem)}`)
  }
  if (canary.ready < podsInStep(input, state.step)) return lack(input, state, canary)
  const { lacking: _, ...whole } = state
  const held = rollout.steps[state.step]
  if (held === undefined) return promote(input, state, 'Every pod that is wanted is ready.')
  const full = weightOf(rollout, state.step)
  const weight = effectiveWeight(input, full, state.stable)
  // A step is held with all of its share, so its time begins when that is first reached, with the last of its pods. A pool
  // that grows afterwards has less of it for a moment, which takes nothing back of what was seen.
  const wasReached = state.reached === true || state.weight >= full
  const since = weight === full && !wasReached ? toKubeTime(input.now) : state.since
  const reached = (wasReached || weight === full) && { reached: true }
  const seconds = elapsedSeconds(input, { since })
  if (desired === 0 && seconds >= held.durationSeconds) {
    return promote(input, state, 'The pool is at zero: there is nobody left to notice.')
  }
  if (seconds >= held.durationSeconds && isSeenEnough({ ...judged, seconds, durationSeconds: held.durationSeconds })) {
    return enter(input, state, state.step + 1)
  }
  return {
    state: { ...whole, weight, since, ...reached },
    why: describeGate({ ...judged, seconds, durationSeconds: held.durationSeconds }),
  }
}

/**
 * Pods of this step are still to come, or are gone for a moment: the old revision has its own until then. They have
 * `readySeconds`, again with each that comes. When Kubernetes calls some ready and this process reaches none, their images
 * go elsewhere as it is, and the share stays.
 */
function lack(input: RolloutInput, state: Serving, canary: RevisionSeen): Next {
  const { target, rollout, now } = input
  const { ready, up, pods, problem } = canary
  const before = state.lacking
  const same = before !== undefined && ready <= before.ready && (ready > 0 || before.ready === 0)
  const lacking = same ? before : { since: toKubeTime(now), ready }
  const isGone = pods === 0 || isOwnFault(problem) || elapsedSeconds(input, lacking) >= blinkSeconds
  if (ready === 0 && up === 0 && isGone) return lost(input, state, canary)
  const missing = podsInStep(input, state.step) - ready
  const { readySeconds } = rollout.gate
  if (elapsedSeconds(input, lacking) > readySeconds) {
    const what = `${missing} of its pods were not ready within ${readySeconds} s${becauseOf(problem)}`
    return fail(input, state, notReadyReason(problem), what)
  }
  const weight = ready === 0 ? state.weight : effectiveWeight(input, weightOf(rollout, state.step), state.stable)
  const why = `revision ${target} waits for ${missing} more ready pods${becauseOf(problem)}`
  return { state: { ...state, weight, lacking }, why }
}

type Problem = RevisionSeen['problem']

const notReadyReason = (problem: Problem): Reason =>
  problem && loadProblems.includes(problem.reason) ? 'CanaryLoadFailed' : 'CanaryNotReady'

const becauseOf = (problem: Problem): string => (problem ? `: ${problem.message.replace(/\.$/, '')}` : '')

/** Pods that are not ready for a moment, all at once, are more often a network's doing than their own. */
const blinkSeconds = 10

const isOwnFault = (problem: Problem): boolean =>
  problem !== undefined && (problem.reason === 'PodCrashing' || loadProblems.includes(problem.reason))

/** A node goes, and a pod with it; one that loses all its pods so often does so by its own doing. */
const setbacksMax = 3

/** It had ready pods and has none: by its own fault it is taken back, otherwise it starts over, a few times. */
function lost(input: RolloutInput, state: Serving, { problem }: RevisionSeen): Next {
  if (isOwnFault(problem)) {
    return fail(input, state, 'CanaryNotReady', `its pods are no longer ready${becauseOf(problem)}`)
  }
  const setbacks = (state.setbacks ?? 0) + 1
  if (setbacks > setbacksMax) {
    return fail(input, state, 'CanaryNotReady', `it lost its ready pods ${setbacks} times`)
  }
  const why = `revision ${input.target} has lost its ready pods and starts over`
  const { lacking: _, reached: __, ...kept } = state
  return { state: { ...kept, weight: 0, step: -1, since: toKubeTime(input.now), setbacks }, why }
}

function promote(input: RolloutInput, { stable }: Serving, because: string): Next {
  const { target } = input
  const message = `Revision ${target} serves now, in place of ${stable}. ${because}`
  return { state: settled(input, target), why: '', news: { type: 'Normal', reason: 'RolloutPromoted', message } }
}
