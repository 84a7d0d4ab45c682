// Holds a rollout before its next step, or moves it on, by its owner's annotations and by the turns of other pools.
// Pure; canary.ts asks here first.
import { toKubeTime } from '../pool/conditions.ts'
import type { Held } from '../pool/owner-requests.ts'
import { reasons } from '../pool/reasons.ts'
import { enter } from './canary-steps.ts'
import { findBreach } from './gate.ts'
import { fail } from './rollback.ts'
import { buildSettledState, observationOf, type RolloutInput } from './rollout-input.ts'
import type { Next, Trying } from './rollout-plan.ts'
import { becauseOf } from './shortfall.ts'

/** The state that is being tried, unless it is being rolled back or the spec no longer asks for it. */
function tryingOf({ state, target }: RolloutInput): Trying | undefined {
  if (state?.stable === undefined || state.canary !== target || state.canary === state.stable) return undefined
  // Its shortfall of the stable revision: it was being rolled back in the pass before.
  if (state.shortfall?.revision === state.stable || state.failed?.revision === target) return undefined
  return { ...state, stable: state.stable, canary: state.canary }
}

/** A canary that is rolled back, or that the spec no longer asks for, is not paused. */
export function forgetPause(input: RolloutInput): RolloutInput {
  if (input.state?.pausedSince === undefined || tryingOf(input) !== undefined) return input
  const { pausedSince: _, ...state } = input.state
  return { ...input, state }
}

/** The next state by the owner's requests, in place of the canary's next step; undefined when there are none. */
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
  // Its times begin once more: those that passed while it was paused count for nothing.
  const { shortfall: _, ...resumed } = state
  const message = `Revision ${state.canary} goes on, and its step begins once more.`
  const event = { type: 'Normal', reason: 'RolloutResumed', message } as const
  return { state: { ...resumed, since: toKubeTime(now) }, why: message, event }
}

/** Errors and crashes still roll it back; time does not, and weights stay. */
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
  message: `${what}, since the pool's owner has paused it. ${reasons.RolloutPaused.act}`,
})

/**
 * Why a rollout that could begin does not. One for a pool whose stable revision serves nothing, although pods are
 * wanted, takes no turn.
 */
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
