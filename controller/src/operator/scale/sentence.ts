// A decision in one sentence for people, with the numbers that decided: for log, Event, condition and history.
import type { BoundsInForce } from './bounds.ts'
import type { Rule, ScaleInput } from './decision.ts'
import type { Terms } from './terms.ts'

/** Why there are more pods than the demand needs. */
export type KeptFor = 'peak' | 'burst' | 'age'

export type DecisionFacts = {
  readonly input: ScaleInput
  readonly replicas: number
  readonly rule: Rule
  readonly keptFor: KeptFor | undefined
  /** Undefined: there is no current demand. */
  readonly terms?: Terms
  /** Before the bounds. */
  readonly stabilized: number
  readonly stabilizationWindowSeconds: number
  readonly bounds: BoundsInForce
}

type Sentence = (facts: DecisionFacts) => string

const sentences: Readonly<Record<Rule, Sentence>> = {
  rate: (facts) => `${pods(facts.replicas)}: ${need(facts)}.`,
  backlog: (facts) => `${pods(facts.replicas)}: ${need(facts)}.`,
  batch: (facts) => `${pods(facts.replicas)}, mostly for batches: ${need(facts)}.`,
  burst: (facts) =>
    facts.keptFor
      ? `Stays at ${pods(facts.replicas)} while a burst lasts; now ${need(facts)}.`
      : `${pods(facts.replicas)} for a burst, ${rates(facts)}: ${need(facts)}.`,
  wake: (facts) => `Wakes from zero with ${pods(facts.replicas)}: ${need(facts)}.`,
  stabilization: (facts) =>
    facts.keptFor
      ? `Keeps ${pods(facts.replicas)}, ${reasonsToKeep[facts.keptFor](facts)}; now ${need(facts)}.`
      : `Keeps ${pods(facts.replicas)} while images are in work.`,
  minimum: (facts) => `${pods(facts.replicas)}, the minimum: ${need(facts)}.`,
  maximum: (facts) =>
    `${pods(facts.replicas)}, the maximum, where ${facts.stabilized} would be wanted: ${need(facts)}.`,
  schedule: (facts) =>
    `${pods(facts.replicas)}, a bound of ${schedules(facts)}, where ${facts.stabilized} would be wanted: ${need(facts)}.`,
  idle: (facts) =>
    `No pods: nothing has arrived, waited or been in work for ${seconds(facts.stabilizationWindowSeconds)}.`,
  fallback: (facts) =>
    `${pods(facts.replicas)} for want of figures: ${lastFigures(facts)}, so no pod is taken away until there are new ones.`,
  external: (facts) => `${pods(facts.replicas)}, as the external owner says.`,
}

const reasonsToKeep: Readonly<Record<KeptFor, Sentence>> = {
  peak: ({ stabilizationWindowSeconds }) => `wanted within the last ${seconds(stabilizationWindowSeconds)}`,
  burst: () => 'since a burst lasts',
  age: ({ input }) => `since the figures are ${seconds(input.demandAgeSeconds)} old`,
}

export const describeDecision = (facts: DecisionFacts): string => sentences[facts.rule](facts)

/** The terms in words: what arrives, what waits, what batches may use. */
function need({ terms, input }: DecisionFacts): string {
  if (!terms) return 'the demand is not known'
  const { rate, serviceSeconds, isServiceAssumed, steadyPods, excess, backlogPods, batchPods } = terms
  const assumed = isServiceAssumed ? ' (assumed)' : ''
  const steady = `${round(rate)} images/s of ${round(serviceSeconds)} s${assumed} at ${round(input.scaling.utilization * 100)} % load need ${round(steadyPods)}`
  const parts = rate > 0 ? [steady] : ['nothing arrives']
  if (excess > 0) parts.push(`${round(excess)} waiting need ${round(backlogPods)} more`)
  if (batchPods > 0) parts.push(`batches may use ${round(batchPods)} more`)
  return parts.join(', ')
}

const rates = ({ terms }: DecisionFacts): string =>
  terms ? `${round(terms.shortRate)} images/s in the last 3 s after ${round(terms.longRate)} in 30 s` : ''

const lastFigures = ({ input }: DecisionFacts): string =>
  input.demand
    ? `the last are ${seconds(input.demandAgeSeconds)} old and believed for ${seconds(input.scaling.fallback.afterSeconds)}`
    : 'none were ever read'

const schedules = ({ bounds }: DecisionFacts): string => `schedule ${bounds.schedules?.join(' and ')}`
const pods = (count: number): string => (count === 0 ? 'No pods' : count === 1 ? '1 pod' : `${count} pods`)
const seconds = (value: number): string => (Number.isFinite(value) ? `${Math.round(value)} s` : 'an unknown time')
/** Two digits behind the point below ten, one below a hundred: enough to check the sum by hand. */
const round = (value: number): string => String(Number(value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)))
