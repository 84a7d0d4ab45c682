// How many pods a pool should have: a pure rule, run once a second by the leader and by the simulator of test/sim.
// docs/autoscaling.md explains it with its formula, its sources and its price.
import type { Demand } from '@matte/core/scale/demand'
import { boundsInForce, type Limit, limitOf } from './bounds.ts'
import type { Decision, EffectiveScaling, Rule, ScaleInput } from './decision.ts'
import { listInputs } from './inputs.ts'
import { describeDecision, type KeptFor } from './sentence.ts'
import { highestPeak, rememberPeak, type ScaleMemory } from './stabilization.ts'
import { countTerms, figure, type Terms } from './terms.ts'

/** The pool is looked at again after this long; a nudge only brings it forward. */
const tickMs = 1_000

/** Taken for a pool whose start-up was never measured: D = 20 s is the middle one of the three simulated. */
export const unmeasuredStartSeconds = 20

/**
 * Figures older than this no longer take pods away, long before `fallback.afterSeconds` gives up on them: one look of
 * a second, and another that failed.
 */
const freshSeconds = 3

/** For a new leader: it holds the pods that it found for one whole hold, as if they had been wanted now. */
export function startMemory(nowSeconds: number, current: number): ScaleMemory {
  return { peaks: [{ untilSeconds: nowSeconds, replicas: current }], burstUntilSeconds: 0 }
}

/**
 * The hold when `scaling.stabilizationWindowSeconds` is not set: what a pod costs while it is not needed is weighed against waiting
 * for its successor, so the hold grows with the start-up time. 60 s outlasts the minute of a usual burst's pause. The
 * bound: start-up times are measured, and one pod that waited an hour for its image must not keep all others for hours.
 */
export function holdFor(scaling: EffectiveScaling, startSeconds: number): number {
  return scaling.stabilizationWindowSeconds === undefined
    ? Math.min(60 + 1.5 * figure(startSeconds), 900)
    : figure(scaling.stabilizationWindowSeconds)
}

/**
 * Decides from figures alone: no clock, no input or output, the same answer to the same input. The answer is whole,
 * finite and within the bounds in force, whatever the figures are.
 */
export function decideReplicas(input: ScaleInput): Decision {
  const { demand, demandAgeSeconds, scaling } = input
  const isStale = !demand || !(demandAgeSeconds <= scaling.fallback.afterSeconds)
  return isStale ? fallBack(input) : follow(input, demand)
}

/** The figures cannot be believed: as many pods as there are, or the fallback's, whichever is more. */
function fallBack(input: ScaleInput): Decision {
  const wanted = Math.max(figure(input.pods.current), figure(input.scaling.fallback.replicas))
  return conclude(input, { wanted, kept: wanted, rule: 'fallback', burstUntilSeconds: input.memory.burstUntilSeconds })
}

function follow(input: ScaleInput, demand: Demand): Decision {
  const { nowSeconds, scaling, memory, pods } = input
  const readySlots = figure(pods.ready) * input.slotsPerPod
  const terms = countTerms(demand, { scaling, slotsPerPod: input.slotsPerPod, readySlots })
  const burstUntilSeconds = terms.isBurst ? nowSeconds + figure(scaling.panicWindowSeconds) : memory.burstUntilSeconds
  const stay = nowSeconds < burstUntilSeconds ? 'burst' : input.demandAgeSeconds > freshSeconds ? 'age' : undefined
  const { wanted } = terms
  const kept = stay ? Math.max(wanted, figure(pods.current)) : wanted
  return conclude(input, { wanted, kept, stay, rule: mainRule(terms, pods.current), terms, burstUntilSeconds })
}

type Outcome = {
  /** What the figures ask for, and that with what stays for `stay`. */
  readonly wanted: number
  readonly kept: number
  readonly stay?: 'burst' | 'age' | undefined
  readonly rule: Rule
  readonly terms?: Terms
  readonly burstUntilSeconds: number
}

/** Lays the hold and the bounds over what is wanted. */
function conclude(input: ScaleInput, outcome: Outcome): Decision {
  const { nowSeconds, scaling, memory, startSeconds } = input
  const stabilizationWindowSeconds = holdFor(scaling, startSeconds)
  const bounds = boundsInForce(scaling)
  // Without the minimum and under the maximum: when a bound is changed, the hold must not remember the former one.
  const peaks = rememberPeak(
    memory.peaks,
    nowSeconds,
    Math.min(outcome.wanted, bounds.maxReplicas),
    stabilizationWindowSeconds,
  )
  const held = Math.max(outcome.kept, highestPeak(peaks))
  const limited = limitOf(held, scaling)
  const replicas = Math.min(Math.max(held, bounds.minReplicas), bounds.maxReplicas)
  const { rule, keptFor } = winningRule(outcome, held, limited)
  const facts = { ...outcome, input, rule, keptFor, limited, held, replicas, stabilizationWindowSeconds, bounds }
  return {
    replicas,
    rule,
    sentence: describeDecision(facts),
    ...(limited && { limited }),
    inputs: listInputs(facts),
    memory: { peaks, burstUntilSeconds: outcome.burstUntilSeconds },
    requeueAfterMs: tickMs,
  }
}

/** A bound wins over what keeps pods, and that over what the figures ask for; nothing wins over missing figures. */
function winningRule({ wanted, kept, stay, rule }: Outcome, held: number, limited: Limit | undefined) {
  const keptFor: KeptFor | undefined = held > kept ? 'peak' : kept > wanted ? stay : undefined
  if (rule === 'fallback') return { rule, keptFor: undefined }
  const keeping: Rule | undefined = keptFor && (keptFor === 'burst' ? 'burst' : 'hold')
  return { rule: limited ?? keeping ?? rule, keptFor }
}

/** Which term made the answer what it is. */
function mainRule({ wanted, steadyPods, backlogPods, batchPods, isBurst }: Terms, current: number): Rule {
  if (wanted === 0) return 'idle'
  if (current === 0) return 'wake'
  if (steadyPods + backlogPods + batchPods === 0) return 'hold' // only images in work, which finish where they are
  if (batchPods > steadyPods + backlogPods) return 'batch'
  if (Math.ceil(steadyPods + batchPods) < wanted) return 'backlog'
  return isBurst ? 'burst' : 'rate'
}
