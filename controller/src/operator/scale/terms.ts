// The arithmetic of what is wanted before hold and bounds: three terms, in pods, each from measured figures.
import type { Demand } from '@matte/core/scale/demand'

export type TermInput = {
  readonly scaling: { readonly p95Seconds: number; readonly utilization: number }
  readonly slotsPerPod: number
  readonly readySlots: number
}

export type Terms = {
  /** Singles a second: of the last 3 s, of the last 30 s, and the one that counts. */
  readonly shortRate: number
  readonly longRate: number
  readonly rate: number
  /** The short rate is above the long one by more than chance allows. */
  readonly isBurst: boolean
  readonly serviceSeconds: number
  /** True when no image was ever served and `serviceSeconds` is only taken for likely. */
  readonly isServiceAssumed: boolean
  /** Singles that wait beyond what the ready slots take next. */
  readonly excess: number
  /** In pods, not rounded. */
  readonly steadyPods: number
  readonly backlogPods: number
  readonly batchPods: number
  /** Their sum, rounded up; at least 1 while anything arrives, waits or is in work. */
  readonly wanted: number
}

const shortSeconds = 3
const longSeconds = 30
/** Arrivals by chance exceed their mean by two deviations in one look of forty: rare enough to act on at once. */
const burstDeviations = 2

/**
 * A backlog is to be gone within two and a half times the lateness bound, 5 s at the default of 2 s. It must be a
 * multiple of the bound, since queues look alike when all times are measured in it; the factor is from the simulator
 * (docs/autoscaling.md): smaller ones only let the cap below decide, larger ones let images be late.
 */
const drainFactor = 2.5

/**
 * The backlog's term is at most half the steady one plus two pods. While pods start, the backlog goes on growing, and
 * without this bound the answer would grow with the start-up time to whatever the maximum is.
 */
const backlogShare = 0.5
const backlogExtraPods = 2

/** No figure of ours is larger, and products of such figures are still finite. */
const figureMax = 1_000_000_000

/** A figure that can be reckoned with: finite, not negative. What cannot be counts as 0. */
export const figure = (value: number | undefined): number =>
  value !== undefined && value > 0 ? Math.min(value, figureMax) : 0

/** Seconds in which a backlog is to be gone. */
export const drainSecondsFor = (p95Seconds: number): number => drainFactor * Math.max(figure(p95Seconds), 0.1)

export function countTerms(demand: Demand, { scaling, slotsPerPod, readySlots }: TermInput): Terms {
  const rates = estimateRate(figure(demand.arrivals3s), figure(demand.arrivals30s))
  const measured = figure(demand.serviceSeconds)
  // Of a model that was never seen at work it is known only that it should keep the bound: half of it is taken.
  const serviceSeconds = measured || figure(scaling.p95Seconds) / 2
  const slots = Math.max(1, figure(slotsPerPod))
  const load = Math.min(Math.max(figure(scaling.utilization), 0.05), 1)

  const steadyPods = (rates.rate * serviceSeconds) / (slots * load)
  const excess = Math.max(0, figure(demand.backlog) - figure(readySlots))
  const drainPods = (excess * serviceSeconds) / (drainSecondsFor(scaling.p95Seconds) * slots)
  const backlogPods = Math.min(drainPods, backlogShare * steadyPods + backlogExtraPods)
  // Batches fill their slots to the brim, so the load plays no part.
  const batchPods = (figure(demand.batchSlots) + figure(demand.batchProcessing)) / slots

  // The small allowance keeps 3.0000000000000004 pods from becoming four.
  const sum = Math.ceil(steadyPods + backlogPods + batchPods - 1e-9)
  const wanted = Math.max(sum, isIdle(demand) ? 0 : 1)
  const isServiceAssumed = measured === 0
  return { ...rates, serviceSeconds, isServiceAssumed, excess, steadyPods, backlogPods, batchPods, wanted }
}

/** The mean of 30 s, or that of 3 s when it is above it by two deviations of a Poisson count. */
function estimateRate(arrivals3s: number, arrivals30s: number) {
  const shortRate = arrivals3s / shortSeconds
  const longRate = arrivals30s / longSeconds
  const expected = longRate * shortSeconds
  const isBurst = arrivals3s > expected + burstDeviations * Math.sqrt(expected)
  return { shortRate, longRate, isBurst, rate: isBurst ? shortRate : longRate }
}

/** Nothing arrives, nothing waits, nothing is in work. */
function isIdle(demand: Demand): boolean {
  const { arrivals3s, arrivals30s, backlog, batchSlots, batchProcessing, processing } = demand
  return [arrivals3s, arrivals30s, backlog, batchSlots, batchProcessing, processing].every((n) => figure(n) === 0)
}
