// Scaling rule: a pure function, run once a second by the leader and by the simulator in test/sim. docs/autoscaling.md
// explains formula, sources and cost.
import type { Demand } from '@matte/core/scale/demand'
import { boundsInForce, type Limit, limitOf } from './bounds.ts'
import type { Decision, EffectiveScaling, Rule, ScaleInput } from './decision.ts'
import { describeDecision, describeExternal, type KeptFor, listInputs } from './describe-decision.ts'
import { highestPeak, rememberPeak, type ScaleMemory } from './stabilization.ts'
import { clampValue, countTerms, type Terms } from './terms.ts'

const tickMs = 1_000

/** Assumption before the first measurement: the middle of three simulated times. */
export const unmeasuredStartSeconds = 20

/** Older demand does not scale down; allows one pass and one failed read. */
const freshSeconds = 3

export function startMemory(nowSeconds: number, current: number): ScaleMemory {
  return { peaks: [{ untilSeconds: nowSeconds, replicas: current }], burstUntilSeconds: 0 }
}

/**
 * The default window grows with the start-up time, because it weighs an unneeded pod against the wait for a new one. 60
 * s outlasts the pauses in a usual burst. The maximum limits the effect of a single very slow start.
 */
export const stabilizationSecondsFor = (scaling: EffectiveScaling, startSeconds: number): number =>
  clampValue(scaling.stabilizationWindowSeconds ?? Math.min(60 + 1.5 * clampValue(startSeconds), 900))

/** Pure. The result is a finite integer within the bounds in force for any input. */
export function decideReplicas(input: ScaleInput): Decision {
  const demand = currentDemand(input)
  if (demand) return follow(input, demand)
  return input.ledSeconds > input.scaling.fallback.afterSeconds ? fallBack(input) : awaitDemand(input)
}

/** The external owner's number, with the need by demand for its metrics (docs/external-scalers.md). Pure. */
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

function awaitDemand(input: ScaleInput): Decision {
  const kept = clampValue(input.pods.current)
  const { burstUntilSeconds } = input.memory
  return conclude(input, { wanted: kept, kept, stay: 'unread', rule: 'stabilization', burstUntilSeconds })
}

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
  readonly wanted: number
  readonly kept: number
  readonly stay?: 'burst' | 'age' | 'unread' | undefined
  readonly rule: Rule
  readonly terms?: Terms
  readonly burstUntilSeconds: number
}

function conclude(input: ScaleInput, outcome: Outcome): Decision {
  const { nowSeconds, scaling, memory, startSeconds } = input
  const stabilizationWindowSeconds = stabilizationSecondsFor(scaling, startSeconds)
  const bounds = boundsInForce(scaling)
  // Limited by the maximum only; a changed minimum must not be remembered.
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

/** A bound wins over reasons to keep pods, and those over the demand. Missing demand wins over everything. */
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
  // Only requests in flight remain, which end in their pods.
  if (steadyPods + backlogPods + batchPods === 0) return 'stabilization'
  if (batchPods > steadyPods + backlogPods) return 'batch'
  if (Math.ceil(steadyPods + batchPods) < wanted) return 'backlog'
  return isBurst ? 'burst' : 'rate'
}
