// Owner's requests and rollout queue, which canary.ts applies before its own step. Pure.
import { toKubeTime } from '../pool/conditions.ts'
import type { Held } from '../pool/owner-requests.ts'
import { reasons } from '../pool/reasons.ts'
import { enter } from './canary-steps.ts'
import { findBreach } from './gate.ts'
import { fail } from './rollback.ts'
import { buildSettledState, type Next, observationOf, type RolloutInput, type Trying } from './rollout-decision.ts'
import { becauseOf } from './shortfall.ts'

/** The canary, unless it is being rolled back or spec no longer asks for it. */
function tryingOf({ state, target }: RolloutInput): Trying | undefined {
  if (state?.stable === undefined || state.canary !== target || state.canary === state.stable) return undefined
  // A shortfall of the stable revision means that the last pass was a rollback.
  if (state.shortfall?.revision === state.stable || state.failed?.revision === target) return undefined
  return { ...state, stable: state.stable, canary: state.canary }
}

/** Clears the pause of a canary that is rolled back or no longer asked for. */
export function forgetPause(input: RolloutInput): RolloutInput {
  if (input.state?.pausedSince === undefined || tryingOf(input) !== undefined) return input
  const { pausedSince: _, ...state } = input.state
  return { ...input, state }
}

export function controlCanary(input: RolloutInput): Next | undefined {
  const { controls, rollout, now } = input
  const trying = tryingOf(input)
  if (controls === undefined || trying === undefined) return undefined
  const { pausedSince, ...state } = trying
  const isPromoted = controls.promote === state.canary
  if (isPromoted && state.step < rollout.steps.length && observationOf(input, state.canary).ready > 0) {
    return enter(input, state, rollout.steps.length)
  }
  if (controls.isPaused && !isPromoted) return pause(input, trying)
  if (pausedSince === undefined) return undefined
  // The step restarts: time before and during the pause does not count.
  const { shortfall: _, ...resumed } = state
  const message = `Revision ${state.canary} resumes, and its step restarts.`
  const event = { type: 'Normal', reason: 'RolloutResumed', message } as const
  return { state: { ...resumed, since: toKubeTime(now) }, why: message, event }
}

/** While paused, errors and crashes still cause a rollback; timeouts do not, and weights stay. */
function pause(input: RolloutInput, trying: Trying): Next {
  const { counts, rollout, now } = input
  const { pausedSince, ...state } = trying
  const { canary, stable } = state
  const breach = findBreach({ canary: counts.get(canary), stable: counts.get(stable), gate: rollout.gate })
  if (breach) return fail(input, state, { reason: breach.reason, what: breach.message })
  const { problem } = observationOf(input, canary)
  if (state.step >= 0 && problem?.reason === 'PodCrashing') {
    return fail(input, state, { reason: 'CanaryNotReady', what: `one of its pods keeps crashing${becauseOf(problem)}` })
  }
  const held = heldBy(`Revision ${canary} keeps ${state.weight} % of the requests`)
  const event = { type: 'Normal', reason: 'RolloutPaused', message: held.message } as const
  const isNew = pausedSince === undefined
  const next = { ...state, pausedSince: pausedSince ?? toKubeTime(now) }
  return { state: next, why: held.message, held, ...(isNew && { event }) }
}

const heldBy = (what: string): Held => ({
  reason: 'RolloutPaused',
  message: `${what}: the pool's owner has paused it. ${reasons.RolloutPaused.act}`,
})

/** Why a rollout may not begin. It needs no turn if the stable revision serves nothing although pods are desired. */
export function holdStart(input: RolloutInput, stable: string): Next | undefined {
  const { controls, target, desired } = input
  if (controls === undefined) return undefined
  const hold = (held: Held): Next => ({ state: buildSettledState(input, stable), why: held.message, held })
  if (controls.isPaused) return hold(heldBy(`Revision ${target} is not started, and ${stable} serves`))
  const { ready, up } = observationOf(input, stable)
  if (controls.turn === undefined || (desired > 0 && ready === 0 && up === 0)) return undefined
  const message = `Revision ${target} waits for its turn, and ${stable} serves: ${controls.turn}. Wait.`
  return hold({ reason: 'RolloutQueued', message })
}
