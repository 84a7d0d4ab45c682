// The inputs and terms of a decision by name, for history, log and metrics.
import type { DecisionFacts } from './sentence.ts'

/** The CRD's bound of a value in `scalingHistory`; a larger value is cut to it. */
const inputMax = 1_000_000_000

/** An external owner's pool has no stabilization window and no bounds. */
type Facts = Pick<DecisionFacts, 'input' | 'terms'> &
  Partial<Pick<DecisionFacts, 'stabilizationWindowSeconds' | 'stabilized' | 'bounds'>>

/** Finite numbers only, with three decimal places. Unknown values are left out. */
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
