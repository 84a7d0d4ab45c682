// Pods needed by the demand, before stabilization and bounds: the sum of three terms.
import type { Demand } from '@matte/core/scale/demand'
import type { ScaleInput } from './decision.ts'

type TermInput = Pick<ScaleInput, 'scaling' | 'slotsPerPod'> & { readonly readySlots: number }

export type Terms = {
  /** Single requests per second: over 3 s, over 30 s, and the rate in use. */
  readonly shortRate: number
  readonly longRate: number
  readonly rate: number
  /** The short rate exceeds the long one by more than chance. */
  readonly isBurst: boolean
  readonly serviceSeconds: number
  readonly isServiceAssumed: boolean
  readonly excess: number
  readonly steadyPods: number
  readonly backlogPods: number
  readonly batchPods: number
  /** Sum of the terms, rounded up; at least 1 while a request arrives, waits or is in flight. */
  readonly wanted: number
}

const shortSeconds = 3
const longSeconds = 30
/** Random arrivals exceed their mean by two deviations in one pass of forty. */
const burstDeviations = 2

/** From the simulator (docs/autoscaling.md): a smaller factor leaves the cap to decide, a larger one is late. */
const drainFactor = 2.5

/** Cap of the backlog term, because the backlog grows while pods start. */
const backlogShare = 0.5
const backlogExtraPods = 2

/** Larger than any real value; products stay finite. */
const valueMax = 1_000_000_000

export const clampValue = (value: number | undefined): number =>
  value !== undefined && value > 0 ? Math.min(value, valueMax) : 0

export function countTerms(demand: Demand, { scaling, slotsPerPod, readySlots }: TermInput): Terms {
  const rates = estimateRate(clampValue(demand.arrivals3s), clampValue(demand.arrivals30s))
  const measured = clampValue(demand.serviceSeconds)
  // Before the first request, half the latency target is assumed.
  const serviceSeconds = measured || clampValue(scaling.p95Seconds) / 2
  const slots = Math.max(1, clampValue(slotsPerPod))
  const load = Math.min(Math.max(clampValue(scaling.utilization), 0.05), 1)

  const steadyPods = (rates.rate * serviceSeconds) / (slots * load)
  const excess = Math.max(0, clampValue(demand.backlog) - clampValue(readySlots))
  const drainSeconds = drainFactor * Math.max(clampValue(scaling.p95Seconds), 0.1)
  const drainPods = (excess * serviceSeconds) / (drainSeconds * slots)
  const backlogPods = Math.min(drainPods, backlogShare * steadyPods + backlogExtraPods)
  // Batches may fill their slots, so utilization does not apply.
  const batchPods = (clampValue(demand.batchSlots) + clampValue(demand.batchProcessing)) / slots

  // Keeps 3.0000000000000004 from becoming four pods.
  const sum = Math.ceil(steadyPods + backlogPods + batchPods - 1e-9)
  const wanted = Math.max(sum, isIdle(demand) ? 0 : 1)
  const isServiceAssumed = measured === 0
  return { ...rates, serviceSeconds, isServiceAssumed, excess, steadyPods, backlogPods, batchPods, wanted }
}

/** The mean over 30 s, or over 3 s if that is higher by two deviations of a Poisson count. */
function estimateRate(arrivals3s: number, arrivals30s: number) {
  const shortRate = arrivals3s / shortSeconds
  const longRate = arrivals30s / longSeconds
  const expected = longRate * shortSeconds
  const isBurst = arrivals3s > expected + burstDeviations * Math.sqrt(expected)
  return { shortRate, longRate, isBurst, rate: isBurst ? shortRate : longRate }
}

function isIdle(demand: Demand): boolean {
  const { arrivals3s, arrivals30s, backlog, batchSlots, batchProcessing, processing } = demand
  return [arrivals3s, arrivals30s, backlog, batchSlots, batchProcessing, processing].every((n) => clampValue(n) === 0)
}
