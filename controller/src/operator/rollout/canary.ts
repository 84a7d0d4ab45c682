// Next state of a rollout, as a pure step from the state in status and the observation. The state is written before it
// is acted on, so another leader can continue.
//
//   starting ──a pod ready──► step 0 ──held, judged──► step 1 … ──► everything ──all ready──► promoted
//      │  (weight 0, one pod)     │  (weight of the step)               │
//      └──────────────── not ready in time, errors, too slow ───────────┴──► rolled back, until the spec changes
import { toKubeTime } from '../pool/conditions.ts'
import { isRetryAsked, retriedOf } from '../pool/owner-requests.ts'
import type { RolloutStatus } from '../pool/pool-status.ts'
import { startCanary, stepCanary } from './canary-steps.ts'
import { controlCanary, forgetPause, holdStart } from './controls.ts'
import { observeGates } from './observe-gates.ts'
import { isStuck, rollBack } from './rollback.ts'
import {
  buildSettledState,
  type Next,
  observationOf,
  type RevisionObservation,
  type RolloutInput,
  type RolloutPlan,
} from './rollout-decision.ts'
import { sharePods } from './share-pods.ts'

export function planRollout(given: RolloutInput): RolloutPlan {
  const input = forgetPause(given)
  const { state: next, why, event, held } = controlCanary(input) ?? advance(input)
  const state = { ...next, ...retriedOf(input.retry, input.state), ...unservedSince(input, next) }
  const pods = sharePods(state, input)
  const unused = input.revisions.filter(({ revision }) => revision !== state.stable && revision !== state.canary)
  const leftover = unused.filter((one) => one.pods === 0 && one.replicas === 0).map(({ revision }) => revision)
  const gates = observeGates(input, state)
  return { state, pods, leftover, why, gates, ...(event && { event }), ...(held && { held }) }
}

function unservedSince({ state, desired, revisions, now }: RolloutInput, { canary }: RolloutStatus) {
  const isServed = revisions.some(({ ready, up }) => ready > 0 || up > 0)
  const before = state?.unservedSince
  if (isServed || desired === 0 || (canary === undefined && before === undefined)) return {}
  return { unservedSince: before ?? toKubeTime(now) }
}

function advance(input: RolloutInput): Next {
  const { target } = input
  const stable = stableOf(input)
  const state = stateOf(input)
  if (stable === target) return settleOn(input, stable)
  const failed = state?.failed
  if (failed?.revision === target && !isRetryAsked(input.retry, state)) {
    if (state?.canary === target && state.stable === stable)
      return rollBack(input, { ...state, stable, canary: target })
    return { state: { ...buildSettledState(input, stable), failed }, why: failed.message }
  }
  if (state?.canary !== target || state.stable !== stable) return replace(input, stable)
  const { failed: _, shortfall, setbacks, ...rest } = state
  // Retried before its rollback ended: the step restarts.
  const isResumed = failed !== undefined || shortfall?.revision === stable
  const since = isResumed ? toKubeTime(input.now) : state.since
  const kept = { ...(shortfall && { shortfall }), ...(setbacks !== undefined && { setbacks }) }
  const going = { ...rest, stable, since, ...(!isResumed && kept) }
  return going.step < 0 ? startCanary(input, going) : stepCanary(input, going)
}

function stateOf({ state }: RolloutInput): RolloutStatus | undefined {
  if (state === undefined) return undefined
  const { waiting: _, unservedSince: __, ...rest } = state
  return rest
}

/** Without a valid revision in status: the one with most ready pods, or the target if none is ready. */
function stableOf({ state, revisions, target }: RolloutInput): string {
  const exists = (revision: string): boolean => revisions.some((observed) => observed.revision === revision)
  if (state?.stable !== undefined && (state.stable === target || exists(state.stable))) return state.stable
  const order = ({ ready, revision }: RevisionObservation): number => ready + (revision === target ? 0.5 : 0)
  return revisions.filter(({ ready }) => ready > 0).sort((a, b) => order(b) - order(a))[0]?.revision ?? target
}

function settleOn(input: RolloutInput, stable: string): Next {
  const state = stateOf(input)
  if (state?.canary === undefined || state.canary === stable) {
    return { state: buildSettledState(input, stable), why: '' }
  }
  const { canary } = state
  const message = `Revision ${canary} is withdrawn: spec asks for ${stable} again, which keeps serving.`
  const event = { type: 'Normal', reason: 'RolloutWithdrawn', message } as const
  return rollBack(input, { ...state, stable, canary, since: sinceRollback(input) }, event)
}

/** A rollback because of a changed spec begins with the pass that finds it. */
function sinceRollback({ state, now }: RolloutInput): string {
  return state?.shortfall !== undefined && state.shortfall.revision === state.stable ? state.since : toKubeTime(now)
}

/** The canary returns its requests first. If that is stuck, the revision with more ready pods is kept. */
function replace(input: RolloutInput, stable: string): Next {
  const state = stateOf(input)
  if (state?.canary === undefined || state.stable !== stable) return holdStart(input, stable) ?? begin(input, stable)
  const { canary } = state
  const next = rollBack(input, { ...state, stable, canary, since: sinceRollback(input) })
  if (next.state.canary === undefined) return holdStart(input, stable) ?? begin(input, stable)
  if (!isStuck(input, next.state)) return next
  return begin(input, observationOf(input, canary).ready > observationOf(input, stable).ready ? canary : stable)
}

function begin(input: RolloutInput, stable: string): Next {
  const { target, now, state } = input
  const others = [state?.stable, state?.canary].filter((revision) => revision !== undefined && revision !== stable)
  const replaced = others.map((revision) => `, replacing ${revision}`).join('')
  const again = isRetryAsked(input.retry, state) ? ' again because of the annotation matte.dev/retry' : ''
  const what =
    input.rollout.strategy === 'Recreate'
      ? 'all old pods stop first, and requests wait until new ones are ready'
      : 'one pod first, without requests until it is ready'
  return {
    state: { stable, canary: target, weight: 0, step: -1, since: toKubeTime(now) },
    why: `revision ${target} is starting`,
    event: {
      type: 'Normal',
      reason: 'RolloutStarted',
      message: `Revision ${target} is tried${again} beside ${stable}${replaced}: ${what}.`,
    },
  }
}
