// A decision in one sentence for people, with the numbers that decided: for log, Event, condition and history.
import type { BoundsInForce } from './bounds.ts'
import type { Rule, ScaleInput } from './decision.ts'
import type { Terms } from './terms.ts'

/** Why there are more pods than the demand needs. */
export type KeptFor = 'peak' | 'burst' | 'age' | 'unread'

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
  wake: (facts) => `Scales up from zero to ${pods(facts.replicas)}: ${need(facts)}.`,
  stabilization: (facts) =>
    facts.keptFor === 'unread'
      ? awaiting(facts)
      : facts.keptFor
        ? `Keeps ${pods(facts.replicas)}, ${reasonsToKeep[facts.keptFor](facts)}; now ${need(facts)}.`
        : `Keeps ${pods(facts.replicas)} while requests are in flight.`,
  minimum: (facts) => `${pods(facts.replicas)}, the minimum: ${need(facts)}.`,
  maximum: (facts) => `${pods(facts.replicas)}, the maximum, instead of ${facts.stabilized}: ${need(facts)}.`,
  schedule: (facts) =>
    `${pods(facts.replicas)}, a bound of ${schedules(facts)}, instead of ${facts.stabilized}: ${need(facts)}.`,
  idle: (facts) => `No pods: there were no requests for ${seconds(facts.stabilizationWindowSeconds)}.`,
  fallback: (facts) =>
    `${pods(facts.replicas)} without current demand: it was ${lastRead(facts)}, so the pool does not scale down.`,
  external: ({ replicas }) => describeExternal(replicas),
}

const reasonsToKeep: Readonly<Record<Exclude<KeptFor, 'unread'>, Sentence>> = {
  peak: ({ stabilizationWindowSeconds }) => `needed within the last ${seconds(stabilizationWindowSeconds)}`,
  burst: () => 'because a burst lasts',
  age: ({ input }) => `because the demand was read ${seconds(input.demandAgeSeconds)} ago`,
}

const awaiting = ({ replicas, input }: DecisionFacts): string =>
  `Keeps ${replicas === 0 ? 'no pods' : pods(replicas)}: this leader has not read the demand yet, and waits ` +
  `${seconds(input.scaling.fallback.afterSeconds)} for it.`

export const describeExternal = (replicas: number): string => `${pods(replicas)}, as the external owner asks.`

export const describeDecision = (facts: DecisionFacts): string => sentences[facts.rule](facts)

function need({ terms, input }: DecisionFacts): string {
  if (!terms) return 'the demand is not known'
  const { rate, serviceSeconds, isServiceAssumed, steadyPods, excess, backlogPods, batchPods } = terms
  const assumed = isServiceAssumed ? ' (assumed)' : ''
  const load = `${round(input.scaling.utilization * 100)} % load`
  const steady = `${round(rate)} requests/s of ${round(serviceSeconds)} s${assumed} at ${load} need ${round(steadyPods)}`
  const parts = rate > 0 ? [steady] : ['no requests arrive']
  if (excess > 0) parts.push(`${round(excess)} waiting need ${round(backlogPods)} more`)
  if (batchPods > 0) parts.push(`batches may use ${round(batchPods)} more`)
  return parts.join(', ')
}

const rates = ({ terms }: DecisionFacts): string =>
  terms ? `${round(terms.shortRate)} requests/s in the last 3 s after ${round(terms.longRate)} in 30 s` : ''

const lastRead = ({ input }: DecisionFacts): string =>
  input.demand
    ? `last read ${seconds(input.demandAgeSeconds)} ago (limit ${seconds(input.scaling.fallback.afterSeconds)})`
    : 'never read'

const schedules = ({ bounds }: DecisionFacts): string => `schedule ${bounds.schedules?.join(' and ')}`
const pods = (count: number): string => (count === 0 ? 'No pods' : count === 1 ? '1 pod' : `${count} pods`)
const seconds = (value: number): string => (Number.isFinite(value) ? `${Math.round(value)} s` : 'an unknown time')
/** Two decimal places below ten, one below a hundred: enough to check the sum by hand. */
const round = (value: number): string => String(Number(value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)))
