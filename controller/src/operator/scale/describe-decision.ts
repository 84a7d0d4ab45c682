// A decision in one sentence with its numbers, for log, Event, condition and history.
import type { BoundsInForce } from './bounds.ts'
import type { Rule, ScaleInput } from './decision.ts'
import type { Terms } from './terms.ts'

export type KeptFor = 'peak' | 'burst' | 'age' | 'unread'

export type DecisionFacts = {
  readonly input: ScaleInput
  readonly replicas: number
  readonly rule: Rule
  readonly keptFor: KeptFor | undefined
  readonly terms?: Terms
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
    `${pods(facts.replicas)} without current demand, ${lastRead(facts)}: the pool does not scale down.`,
  external: ({ replicas }) => describeExternal(replicas),
}

const reasonsToKeep: Readonly<Record<Exclude<KeptFor, 'unread'>, Sentence>> = {
  peak: ({ stabilizationWindowSeconds }) => `needed within the last ${seconds(stabilizationWindowSeconds)}`,
  burst: () => 'because a burst lasts',
  age: ({ input }) => `because the demand was read ${seconds(input.demandAgeSeconds)} ago`,
}

const awaiting = ({ replicas, input }: DecisionFacts): string =>
  `Keeps ${replicas === 0 ? 'no pods' : pods(replicas)}: this leader waits for its first reading of the demand, up to ` +
  `${seconds(input.scaling.fallback.afterSeconds)}.`

export const describeExternal = (replicas: number): string => `${pods(replicas)}, as the external owner asks.`

export const describeDecision = (facts: DecisionFacts): string => sentences[facts.rule](facts)

function need({ terms, input }: DecisionFacts): string {
  if (!terms) return 'the demand is unknown'
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
const round = (value: number): string => String(Number(value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)))

/** The CRD's maximum of a value in `scalingHistory`. */
const inputMax = 1_000_000_000

/** A pool of an external owner has no window and no bounds. */
type Facts = Pick<DecisionFacts, 'input' | 'terms'> &
  Partial<Pick<DecisionFacts, 'stabilizationWindowSeconds' | 'stabilized' | 'bounds'>>

export function listInputs({
  input,
  terms,
  stabilizationWindowSeconds,
  stabilized,
  bounds,
}: Facts): Record<string, number> {
  const { demand, pods } = input
  const values: Record<string, number | undefined> = {
    ...demand,
    serviceSeconds: terms?.serviceSeconds,
    demandAgeSeconds: input.demandAgeSeconds,
    rate: terms?.rate,
    steadyPods: terms?.steadyPods,
    backlogPods: terms?.backlogPods,
    batchPods: terms?.batchPods,
    wantedPods: terms?.wanted,
    stabilizedPods: stabilized,
    stabilizationWindowSeconds,
    startSeconds: input.startSeconds,
    slotsPerPod: input.slotsPerPod,
    currentPods: pods.current,
    readyPods: pods.ready,
    startingPods: pods.starting,
    drainingPods: pods.draining,
    minReplicas: bounds?.minReplicas,
    maxReplicas: bounds?.maxReplicas,
  }
  const known = Object.entries(values).filter((entry): entry is [string, number] => Number.isFinite(entry[1]))
  return Object.fromEntries(known.map(([name, value]) => [name, roundValue(value)]))
}

const roundValue = (value: number): number => Math.round(Math.min(Math.max(value, -inputMax), inputMax) * 1_000) / 1_000
