import { toKubeTime } from '../pool/conditions.ts'
import { describeGate, findBreach, isSeenEnough } from './gate.ts'
import { fail } from './rollback.ts'
import {
  buildSettledState,
  elapsedSeconds,
  isWithoutRoom,
  type Next,
  observationOf,
  type RolloutInput,
  type Serving,
  waitFor,
} from './rollout-decision.ts'
import { effectiveWeight, fullWeight, isAsleep, podsInStep, sharePods, sharesNames } from './share-pods.ts'
import { becauseOf, notReadyReason, waitForPods } from './shortfall.ts'

/** A load failure is shown at once (`BlockedByFailedLoad`) and may recover until the deadline. */
export function startCanary(input: RolloutInput, state: Serving): Next {
  const { target, rollout } = input
  const canary = observationOf(input, target)
  const { ready, problem, noRoom } = canary
  if (isAsleep(input)) return sleep(input, state)
  if (ready > 0) return leaveStart(input, state)
  const waiting = { ...state, weight: 0 }
  if (isWithoutRoom(canary) || sharePods({ ...waiting, canary: target }, input).get(target) === 0) {
    const why = noRoom?.message ?? `revision ${target} has no room until pods of ${state.stable} are gone`
    return { state: { ...waiting, ...waitFor(input, 'Room') }, why }
  }
  const { readySeconds } = rollout.gate
  // The time of a wait does not count.
  const since = input.state?.waiting === undefined ? state.since : toKubeTime(input.now)
  if (elapsedSeconds(input, { since }) <= readySeconds) {
    return { state: { ...waiting, since }, why: problem?.message ?? `revision ${target} has no ready pod yet` }
  }
  const what = `no pod was ready within ${readySeconds} s${becauseOf(problem)}`
  return fail(input, state, { reason: notReadyReason(problem), what })
}

/** At zero the canary has no pod; it starts with the next requests. */
function sleep(input: RolloutInput, { shortfall: _, weightReached: __, ...state }: Serving): Next {
  const since = state.step < 0 ? state.since : toKubeTime(input.now)
  const why = `revision ${input.target} starts with the next requests, because the pool is at zero`
  return { state: { ...state, step: -1, weight: 0, since, ...waitFor(input, 'Requests') }, why }
}

function leaveStart(input: RolloutInput, state: Serving): Next {
  const { desired, rollout, target } = input
  const stable = observationOf(input, state.stable)
  if (desired === 0)
    return promote(input, state, 'It is ready, and the pool is at zero, so there are no requests to test it with.')
  // Lack of room does not fail the stable revision, so the canary takes all requests and passes its gate first.
  if (stable.ready === 0 && stable.up === 0 && stable.problem !== undefined) {
    return promote(input, state, `It is ready, and ${state.stable} is not: ${stable.problem.message}`)
  }
  // Without a common name the new revision gets no requests before its promotion, so steps are useless.
  const hasSteps = rollout.strategy === 'Canary' && sharesNames(input, state.stable, target)
  return enter(input, state, hasSteps ? 0 : rollout.steps.length)
}

export function enter(input: RolloutInput, state: Serving, index: number): Next {
  const { target, rollout, now } = input
  const full = fullWeight(input, index)
  const weight = effectiveWeight(input, full, state.stable)
  const held = rollout.steps[index]
  const message =
    held === undefined
      ? `Revision ${target} takes over all requests from ${state.stable} as its pods become ready.`
      : `Revision ${target} gets ${full} % of the requests for ${held.durationSeconds} s.`
  const { shortfall: _, weightReached: __, ...rest } = state
  const weightReached = weight >= full && { weightReached: true }
  return {
    state: { ...rest, canary: target, weight, step: index, since: toKubeTime(now), ...weightReached },
    why: message,
    event: { type: 'Normal', reason: 'RolloutStep', message },
  }
}

export function stepCanary(input: RolloutInput, state: Serving): Next {
  const { target, rollout, counts, isDemandFresh } = input
  const canary = observationOf(input, target)
  const judged = { canary: counts.get(target), stable: counts.get(state.stable), gate: rollout.gate }
  const breach = findBreach(judged)
  if (breach) return fail(input, state, { reason: breach.reason, what: breach.message })
  if (canary.problem?.reason === 'PodCrashing') {
    const what = `one of its pods keeps crashing${becauseOf(canary.problem)}`
    return fail(input, state, { reason: 'CanaryNotReady', what })
  }
  if (isAsleep(input)) return sleep(input, state)
  if (canary.ready < podsInStep(input, state.step)) return waitForPods(input, state, canary)
  const held = rollout.steps[state.step]
  if (held === undefined) return promote(input, state, 'All desired pods are ready.')
  const next = holdStep(input, state)
  const { durationSeconds } = held
  const watched = { ...judged, seconds: elapsedSeconds(input, next), durationSeconds, isDemandFresh }
  const isHeld = watched.seconds >= durationSeconds
  if (isHeld && input.desired === 0)
    return promote(input, state, 'The pool is at zero, so there are no more requests to test it with.')
  if (isHeld && isSeenEnough(watched)) return enter(input, state, state.step + 1)
  const pause = isHeld && waitFor(input, isDemandFresh ? 'Requests' : 'Demand')
  return { state: { ...next, ...pause }, why: describeGate(watched) }
}

/** A step's time begins when its weight is first reached, even if the pool then grows. */
function holdStep(input: RolloutInput, { shortfall: _, ...state }: Serving): Serving {
  const full = fullWeight(input, state.step)
  const weight = effectiveWeight(input, full, state.stable)
  const wasReached = state.weightReached === true || state.weight >= full
  const since = weight >= full && !wasReached ? toKubeTime(input.now) : state.since
  return { ...state, weight, since, ...((wasReached || weight >= full) && { weightReached: true }) }
}

function promote(input: RolloutInput, { stable }: Serving, because: string): Next {
  const { target } = input
  const message = `Revision ${target} is promoted and replaces ${stable}. ${because}`
  const event = { type: 'Normal', reason: 'RolloutPromoted', message } as const
  return { state: buildSettledState(input, target), why: '', event }
}
