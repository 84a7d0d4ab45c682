// How many pods a pool should have: a pure rule, run once a second by the leader and by the simulator in test/sim.
// docs/autoscaling.md explains its formula, its sources and what it costs.
import type { Demand } from '@matte/core/scale/demand'
import { boundsInForce, type Limit, limitOf } from './bounds.ts'
import type { Decision, EffectiveScaling, Rule, ScaleInput } from './decision.ts'
import { listInputs } from './inputs.ts'
import { describeDecision, describeExternal, type KeptFor } from './sentence.ts'
import { highestPeak, rememberPeak, type ScaleMemory } from './stabilization.ts'
import { clampValue, countTerms, type Terms } from './terms.ts'

/** A nudge brings the next decision forward. */
const tickMs = 1_000

/** Assumed for a pool whose start-up was never measured: the middle one of the three simulated times. */
export const unmeasuredStartSeconds = 20

/** Older demand no longer scales down: after one pass of a second and one that failed. */
const freshSeconds = 3

/** For a new leader: it keeps the pods that it finds for one stabilization window, as if they were wanted now. */
export function startMemory(nowSeconds: number, current: number): ScaleMemory {
  return { peaks: [{ untilSeconds: nowSeconds, replicas: current }], burstUntilSeconds: 0 }
}

/**
 * Unless it is set, the stabilization window grows with the start-up time: it weighs the cost of a pod that is not
 * needed against the wait for a new one. 60 s outlasts the pause in a usual burst. The bound is there because start-up
 * times are measured: one pod that waited an hour for its image must not keep all others for hours.
 */
export const stabilizationSecondsFor = (scaling: EffectiveScaling, startSeconds: number): number =>
  clampValue(scaling.stabilizationWindowSeconds ?? Math.min(60 + 1.5 * clampValue(startSeconds), 900))

/** Pure. The answer is a whole, finite number within the bounds in force, whatever the input is. */
export function decideReplicas(input: ScaleInput): Decision {
  const demand = currentDemand(input)
  if (demand) return follow(input, demand)
  return input.ledSeconds > input.scaling.fallback.afterSeconds ? fallBack(input) : awaitDemand(input)
}

/**
 * Pure: the number of an external owner, and beside it what the demand needs, which the owner can read from the metrics
 * (docs/external-scalers.md). Without current demand the terms are absent and not old, so that a scaler that reads
 * them knows that it knows nothing.
 */
export function followOwner(input: ScaleInput, replicas: number): Decision {
  const demand = currentDemand(input)
  const known = { input: { ...input, demand }, ...(demand && { terms: termsOf(input, demand) }) }
  return {
    replicas,
    rule: 'external',
    sentence: describeExternal(replicas),
    inputs: { ...listInputs(known), replicas },
    memory: input.memory,
    requeueAfterMs: tickMs,
  }
}

const currentDemand = ({ demand, demandAgeSeconds, scaling }: ScaleInput): Demand | undefined =>
  demandAgeSeconds <= scaling.fallback.afterSeconds ? demand : undefined

const termsOf = ({ scaling, slotsPerPod, pods }: ScaleInput, demand: Demand): Terms =>
  countTerms(demand, { scaling, slotsPerPod, readySlots: clampValue(pods.ready) * slotsPerPod })

/** A new leader, or a new pool: the first reading may take as long as every later one. */
function awaitDemand(input: ScaleInput): Decision {
  const kept = clampValue(input.pods.current)
  const { burstUntilSeconds } = input.memory
  return conclude(input, { wanted: kept, kept, stay: 'unread', rule: 'stabilization', burstUntilSeconds })
}

/** Without demand: the pods that there are or the fallback's, whichever is more. */
function fallBack(input: ScaleInput): Decision {
  const wanted = Math.max(clampValue(input.pods.current), clampValue(input.scaling.fallback.replicas))
  return conclude(input, { wanted, kept: wanted, rule: 'fallback', burstUntilSeconds: input.memory.burstUntilSeconds })
}

function follow(input: ScaleInput, demand: Demand): Decision {
  const { nowSeconds, scaling, memory, pods } = input
  const terms = termsOf(input, demand)
  const { panicWindowSeconds } = scaling
  const burstUntilSeconds = terms.isBurst ? nowSeconds + clampValue(panicWindowSeconds) : memory.burstUntilSeconds
  const stay = nowSeconds < burstUntilSeconds ? 'burst' : input.demandAgeSeconds > freshSeconds ? 'age' : undefined
  const { wanted } = terms
  const kept = stay ? Math.max(wanted, clampValue(pods.current)) : wanted
  return conclude(input, { wanted, kept, stay, rule: mainRule(terms, pods.current), terms, burstUntilSeconds })
}

type Outcome = {
  /** What the demand needs, and the same with the pods that stay because of `stay`. */
  readonly wanted: number
  readonly kept: number
  readonly stay?: 'burst' | 'age' | 'unread' | undefined
  readonly rule: Rule
  readonly terms?: Terms
  readonly burstUntilSeconds: number
}

/** Applies the stabilization window and the bounds. */
function conclude(input: ScaleInput, outcome: Outcome): Decision {
  const { nowSeconds, scaling, memory, startSeconds } = input
  const stabilizationWindowSeconds = stabilizationSecondsFor(scaling, startSeconds)
  const bounds = boundsInForce(scaling)
  // Within the maximum and without the minimum: a changed bound must not be remembered.
  const wanted = Math.min(outcome.wanted, bounds.maxReplicas)
  const peaks = rememberPeak(memory.peaks, nowSeconds, wanted, stabilizationWindowSeconds)
  const stabilized = Math.max(outcome.kept, highestPeak(peaks))
  const limited = limitOf(stabilized, scaling)
  const replicas = Math.min(Math.max(stabilized, bounds.minReplicas), bounds.maxReplicas)
  const { rule, keptFor } = winningRule(outcome, stabilized, limited)
  const facts = { ...outcome, input, rule, keptFor, limited, stabilized, replicas, stabilizationWindowSeconds, bounds }
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

/** A bound wins over what keeps pods, and that over the demand. Nothing wins over missing demand. */
function winningRule({ wanted, kept, stay, rule }: Outcome, stabilized: number, limited: Limit | undefined) {
  if (rule === 'fallback') return { rule, keptFor: undefined }
  if (stay === 'unread') return { rule: limited ?? rule, keptFor: stay }
  const keptFor: KeptFor | undefined = stabilized > kept ? 'peak' : kept > wanted ? stay : undefined
  const keeping: Rule | undefined = keptFor && (keptFor === 'burst' ? 'burst' : 'stabilization')
  return { rule: limited ?? keeping ?? rule, keptFor }
}

function mainRule({ wanted, steadyPods, backlogPods, batchPods, isBurst }: Terms, current: number): Rule {
  if (wanted === 0) return 'idle'
  if (current === 0) return 'wake'
  // Only requests in flight, which end in the pods that they are in.
  if (steadyPods + backlogPods + batchPods === 0) return 'stabilization'
  if (batchPods > steadyPods + backlogPods) return 'batch'
  if (Math.ceil(steadyPods + batchPods) < wanted) return 'backlog'
  return isBurst ? 'burst' : 'rate'
}
