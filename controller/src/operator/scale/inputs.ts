// The figures of a decision by name, for history, log and metrics: what went in, and the terms that came of it.
import type { DecisionFacts } from './sentence.ts'

/** Bound of a figure in `scalingHistory` (the CRD's); a larger one is cut to it. */
const inputMax = 1_000_000_000

/** Finite numbers only; what is not known is left out. Three digits behind the point. */
export function listInputs({
  input,
  terms,
  stabilizationWindowSeconds,
  held,
  bounds,
}: DecisionFacts): Record<string, number> {
  const { demand, pods } = input
  const figures: Record<string, number | undefined> = {
    ...demand,
    serviceSeconds: terms?.serviceSeconds,
    demandAgeSeconds: input.demandAgeSeconds,
    rate: terms?.rate,
    steadyPods: terms?.steadyPods,
    backlogPods: terms?.backlogPods,
    batchPods: terms?.batchPods,
    wantedPods: terms?.wanted,
    heldPods: held,
    stabilizationWindowSeconds,
    startSeconds: input.startSeconds,
    slotsPerPod: input.slotsPerPod,
    currentPods: pods.current,
    readyPods: pods.ready,
    startingPods: pods.starting,
    drainingPods: pods.draining,
    minReplicas: bounds.minReplicas,
    maxReplicas: bounds.maxReplicas,
  }
  const known = Object.entries(figures).filter((entry): entry is [string, number] => Number.isFinite(entry[1]))
  return Object.fromEntries(known.map(([name, value]) => [name, roundFigure(value)]))
}

const roundFigure = (value: number): number => {
  const bounded = Math.min(Math.max(value, -inputMax), inputMax)
  return Math.round(bounded * 1_000) / 1_000
}
