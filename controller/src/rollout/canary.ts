// What a changed pool does next: a pure step from what status remembers and what is seen to the next state and the pods
// of each revision. The state is written before it is acted on, so a leader that dies between the two is followed by
// one that goes on from the same place.
//
//   starting ──a pod ready──► step 0 ──held, judged──► step 1 … ──► everything ──all ready──► promoted
//      │  (weight 0, one pod)     │  (weight of the step)               │
//      └──────────────── not ready in time, errors, too slow ───────────┴──► rolled back, until the spec changes
//
// A pool at zero has nobody to notice: the new revision starts one pod, and when that is ready it is promoted and let go.
import { type Reason, toKubeTime } from '../pool/conditions.ts'
import type { PoolRollout } from '../pool/pool-spec.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { describeGate, type Figures, faultsOf, findBreach, isSeenEnough } from './gate.ts'

export type RevisionSeen = {
  readonly revision: string
  /** Pods asked of its Deployment. */
  readonly replicas: number
  /** Pods of it that exist, those on their way out included. */
  readonly pods: number
  /** Pods that could take images now. */
  readonly ready: number
  /** What keeps its pods from becoming ready, when something is known to. */
  readonly problem?: { readonly reason: Reason; readonly message: string }
}

export type RolloutInput = {
  readonly rollout: PoolRollout
  /** The revision that the spec asks for. */
  readonly target: string
  /** Pods wanted for the pool, by whoever owns that number. */
  readonly desired: number
  /** `status.rollout`, absent before the first look. */
  readonly state: RolloutStatus | undefined
  /** Revisions that have a Deployment. */
  readonly revisions: readonly RevisionSeen[]
  /** What each revision did since the present step began. */
  readonly figures: ReadonlyMap<string, Figures>
  readonly now: Date
}

export type RolloutNews = {
  readonly type: 'Normal' | 'Warning'
  readonly reason: 'RolloutStarted' | 'RolloutStep' | 'RolloutPromoted' | 'RolloutRolledBack' | 'RolloutWithdrawn'
  readonly message: string
}

export type RolloutPlan = {
  readonly state: RolloutStatus
  /** Pods wanted of each revision that has a Deployment or needs one. */
  readonly pods: ReadonlyMap<string, number>
  /** Revisions without a pod and without a purpose: their Deployments may go. */
  readonly leftover: readonly string[]
  /** What the rollout waits for, for a person; empty when there is none. */
  readonly why: string
  /** Set when the state has changed in a way that people want to know of. */
  readonly news?: RolloutNews
}

export function planRollout(input: RolloutInput): RolloutPlan {
  const { state, why, news } = advance(input)
  const pods = sharePods(state, input)
  const leftover = input.revisions.filter((seen) => seen.pods === 0 && seen.replicas === 0 && !isUsed(seen, state))
  return { state, pods, leftover: leftover.map(({ revision }) => revision), why, ...(news && { news }) }
}

type Next = { readonly state: RolloutStatus; readonly why: string; readonly news?: RolloutNews }

const isUsed = ({ revision }: RevisionSeen, { stable, canary }: RolloutStatus): boolean =>
  revision === stable || revision === canary

function advance(input: RolloutInput): Next {
  const { target, state } = input
  const stable = stableOf(input)
  if (stable === target) return settleOn(input, stable)
  const failed = state?.failed
  if (failed?.revision === target) return { state: { ...settled(input, stable), failed }, why: failed.message }
  if (state?.canary !== target || state.stable !== stable) return begin(input, stable)
  return state.step < 0 ? start(input, { ...state, stable }) : step(input, { ...state, stable })
}

/**
 * The revision that serves. Without a memory of it (a new pool, or a status that was lost), or when its Deployment was
 * deleted by somebody, it is the one with most ready pods, the wanted one first. Of a new pool it is the wanted one, which
 * has nothing to be compared with.
 */
function stableOf({ state, revisions, target }: RolloutInput): string {
  const exists = (revision: string): boolean => revisions.some((seen) => seen.revision === revision)
  if (state?.stable !== undefined && (state.stable === target || exists(state.stable))) return state.stable
  const order = (seen: RevisionSeen): number => (seen.revision === target ? Number.POSITIVE_INFINITY : seen.ready)
  return revisions.filter(({ ready }) => ready > 0).sort((a, b) => order(b) - order(a))[0]?.revision ?? target
}

/** The state in which nothing is being tried; its time stays while it does. */
function settled({ state, now }: RolloutInput, stable: string): RolloutStatus {
  const same = state !== undefined && state.stable === stable && state.canary === undefined
  return { stable, weight: 0, step: -1, since: same ? state.since : toKubeTime(now) }
}

function settleOn(input: RolloutInput, stable: string): Next {
  const state = settled(input, stable)
  const dropped = input.state?.canary
  if (dropped === undefined || dropped === stable) return { state, why: '' }
  const message = `Revision ${dropped} is withdrawn: the spec asks for ${stable} again, which has served all along.`
  return { state, why: '', news: { type: 'Normal', reason: 'RolloutWithdrawn', message } }
}

function begin(input: RolloutInput, stable: string): Next {
  const { target, now, state } = input
  const replaced = state?.canary === undefined ? '' : ` in place of ${state.canary}, which is given up`
  const message = `Revision ${target} is tried beside ${stable}${replaced}: one pod first, without images until it is ready.`
  return {
    state: { stable, canary: target, weight: 0, step: -1, since: toKubeTime(now) },
    why: `revision ${target} is starting`,
    news: { type: 'Normal', reason: 'RolloutStarted', message },
  }
}

type Running = RolloutStatus & { readonly stable: string }

const elapsedSeconds = ({ now }: RolloutInput, { since }: RolloutStatus): number =>
  Math.max(0, (now.getTime() - Date.parse(since)) / 1000)

const seenOf = ({ revisions }: RolloutInput, revision: string): RevisionSeen =>
  revisions.find((seen) => seen.revision === revision) ?? { revision, replicas: 0, pods: 0, ready: 0 }

const loadProblems: readonly Reason[] = ['ModelLoadFailed', 'ModelShapeWrong', 'SourceMissing']

/** Until its first pod is ready. What is wrong is shown at once (`BlockedByFailedLoad`) and given time to mend. */
function start(input: RolloutInput, state: Running): Next {
  const { target, rollout } = input
  const { ready, problem } = seenOf(input, target)
  if (ready > 0) return firstReady(input, state)
  const { readySeconds } = rollout.gate
  if (elapsedSeconds(input, state) <= readySeconds) {
    return { state: { ...state, weight: 0 }, why: problem?.message ?? `revision ${target} has no ready pod yet` }
  }
  const reason = problem && loadProblems.includes(problem.reason) ? 'CanaryLoadFailed' : 'CanaryNotReady'
  const cause = problem === undefined ? '' : `: ${problem.message.replace(/\.$/, '')}`
  return rollBack(input, state, reason, `no pod was ready within ${readySeconds} s${cause}`)
}

function firstReady(input: RolloutInput, state: Running): Next {
  const { desired } = input
  const stable = seenOf(input, state.stable)
  if (desired === 0) return promote(input, state, 'It is ready, and the pool is at zero: there is nobody to notice.')
  if (stable.ready === 0 && stable.problem !== undefined) {
    return promote(input, state, `It is ready, and ${state.stable} is not: ${stable.problem.message}`)
  }
  return enter(input, state, 0)
}

/** Behind the last step comes one with everything, until as many pods are ready as are wanted. */
const weightOf = ({ steps }: PoolRollout, index: number): number => steps[index]?.weight ?? 100

function enter(input: RolloutInput, state: Running, index: number): Next {
  const { target, rollout, now } = input
  const weight = effectiveWeight(input, weightOf(rollout, index))
  const hold = rollout.steps[index]?.holdSeconds
  const message =
    hold === undefined
      ? `Revision ${target} takes over from ${state.stable}: all images as its pods become ready.`
      : `Revision ${target} gets ${weightOf(rollout, index)} % of the images for ${hold} s.`
  return {
    state: { stable: state.stable, canary: target, weight, step: index, since: toKubeTime(now) },
    why: message,
    news: { type: 'Normal', reason: 'RolloutStep', message },
  }
}

function step(input: RolloutInput, state: Running): Next {
  const { target, rollout, figures, desired } = input
  const canary = seenOf(input, target)
  if (canary.ready === 0) return lost(input, state, canary)
  const judged = { canary: figures.get(target), stable: figures.get(state.stable), gate: rollout.gate }
  const breach = findBreach(judged)
  if (breach) return rollBack(input, state, breach.reason, breach.message)
  if (desired === 0) return promote(input, state, 'The pool is at zero: there is nobody left to notice.')
  const full = weightOf(rollout, state.step)
  const weight = effectiveWeight(input, full)
  const missing = podsOf(input, state.step) - canary.ready
  if (missing > 0) {
    return { state: { ...state, weight }, why: `revision ${target} waits for ${missing} more ready pods` }
  }
  const held = rollout.steps[state.step]
  if (held === undefined) return promote(input, state, 'Every pod that is wanted is ready.')
  // A step is held with all of its share, so its time begins when the last of its pods is ready.
  const since = state.weight < full && weight === full ? toKubeTime(input.now) : state.since
  const seconds = elapsedSeconds(input, { ...state, since })
  if (seconds >= held.holdSeconds && isSeenEnough({ ...judged, seconds, holdSeconds: held.holdSeconds })) {
    return enter(input, state, state.step + 1)
  }
  return {
    state: { ...state, weight, since },
    why: describeGate({ ...judged, seconds, holdSeconds: held.holdSeconds }),
  }
}

/** It had ready pods and has none: by its own fault it is taken back, otherwise it starts over. */
function lost(input: RolloutInput, state: Running, { problem }: RevisionSeen): Next {
  const faults = faultsOf(input.figures.get(input.target))
  if (faults > 0) {
    return rollBack(
      input,
      state,
      'CanaryNotReady',
      `its pods no longer answer, after ${faults} of its images had failed`,
    )
  }
  if (problem && (problem.reason === 'PodCrashing' || loadProblems.includes(problem.reason))) {
    return rollBack(
      input,
      state,
      'CanaryNotReady',
      `its pods are no longer ready: ${problem.message.replace(/\.$/, '')}`,
    )
  }
  const why = `revision ${input.target} has lost its ready pods and starts over`
  return { state: { ...state, weight: 0, step: -1, since: toKubeTime(input.now) }, why }
}

function promote(input: RolloutInput, { stable }: Running, because: string): Next {
  const { target } = input
  const message = `Revision ${target} serves now, in place of ${stable}. ${because}`
  return { state: settled(input, target), why: '', news: { type: 'Normal', reason: 'RolloutPromoted', message } }
}

function rollBack(input: RolloutInput, { stable }: Running, reason: Reason, what: string): Next {
  const { target, now } = input
  const message = `Revision ${target} was taken back and ${stable} serves on: ${what}.`
  const failed = { revision: target, reason, message: what, time: toKubeTime(now) }
  return {
    state: { ...settled(input, stable), failed },
    why: message,
    news: { type: 'Warning', reason: 'RolloutRolledBack', message },
  }
}

/**
 * The step's share, or less while too few of the new pods are ready for it: a pod shall get no more images than its
 * part of the pool.
 */
function effectiveWeight(input: RolloutInput, weight: number): number {
  const { ready } = seenOf(input, input.target)
  return Math.min(weight, Math.floor((100 * ready) / Math.max(1, input.desired)))
}

/** Pods that the new revision needs in this step. */
function podsOf({ rollout, desired }: RolloutInput, index: number): number {
  return index < 0 ? 1 : Math.max(1, Math.ceil((desired * weightOf(rollout, index)) / 100))
}

/**
 * Pods of each revision. The old one gives way only to new pods that are ready, so that capacity never falls, and keeps
 * one until the promotion: a rollout needs room for the pods that are starting, not for the pool twice.
 */
function sharePods(state: RolloutStatus, input: RolloutInput): Map<string, number> {
  const { desired, revisions } = input
  const shares = new Map(revisions.map(({ revision }) => [revision, 0]))
  const serving = state.stable ?? input.target
  if (state.canary === undefined) return shares.set(serving, desired)
  const canaryPods = podsOf(input, state.step)
  const given = Math.min(seenOf(input, state.canary).ready, state.step < 0 ? 0 : canaryPods)
  const floor = Math.min(1, desired)
  return shares.set(serving, Math.max(desired - given, floor)).set(state.canary, canaryPods)
}
