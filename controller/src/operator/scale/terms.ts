// What the demand needs, before stabilization window and bounds: the sum of three terms, in pods.
import type { Demand } from '@matte/core/scale/demand'
import type { ScaleInput } from './decision.ts'

type TermInput = Pick<ScaleInput, 'scaling' | 'slotsPerPod'> & { readonly readySlots: number }

export type Terms = {
  /** Single requests a second: over the last 3 s, over the last 30 s, and the one of the two that counts. */
  readonly shortRate: number
  readonly longRate: number
  readonly rate: number
  /** The short rate is above the long one by more than chance explains. */
  readonly isBurst: boolean
  readonly serviceSeconds: number
  /** True when no request was ever served and `serviceSeconds` is an assumption. */
  readonly isServiceAssumed: boolean
  /** Single requests that wait, beyond one for each ready slot. */
  readonly excess: number
  /** In pods, not rounded. */
  readonly steadyPods: number
  readonly backlogPods: number
  readonly batchPods: number
  /** Their sum, rounded up; at least 1 while a request arrives, waits or is in flight. */
  readonly wanted: number
}

const shortSeconds = 3
const longSeconds = 30
/** By chance, arrivals exceed their mean by two deviations in one pass of forty: rare enough to act on at once. */
const burstDeviations = 2

/**
 * A backlog should drain within this multiple of the latency target, since a queue looks the same when all its times
 * are scaled alike. The factor is from the simulator (docs/autoscaling.md): with a smaller one the cap below decides,
 * with a larger one requests are late.
 */
const drainFactor = 2.5

/**
 * The backlog's term is at most half the steady one plus two pods. While pods start, the backlog grows, and without
 * this cap the answer would grow with the start-up time up to the maximum.
 */
const backlogShare = 0.5
const backlogExtraPods = 2

/** No value of ours is larger, and products of such values are still finite. */
const valueMax = 1_000_000_000

/** Anything but a positive number counts as 0. */
export const clampValue = (value: number | undefined): number =>
  value !== undefined && value > 0 ? Math.min(value, valueMax) : 0

export function countTerms(demand: Demand, { scaling, slotsPerPod, readySlots }: TermInput): Terms {
  const rates = estimateRate(clampValue(demand.arrivals3s), clampValue(demand.arrivals30s))
  const measured = clampValue(demand.serviceSeconds)
  // A model that has served no request yet is assumed to take half the latency target.
  const serviceSeconds = measured || clampValue(scaling.p95Seconds) / 2
  const slots = Math.max(1, clampValue(slotsPerPod))
  const load = Math.min(Math.max(clampValue(scaling.utilization), 0.05), 1)

  const steadyPods = (rates.rate * serviceSeconds) / (slots * load)
  const excess = Math.max(0, clampValue(demand.backlog) - clampValue(readySlots))
  const drainSeconds = drainFactor * Math.max(clampValue(scaling.p95Seconds), 0.1)
  const drainPods = (excess * serviceSeconds) / (drainSeconds * slots)
  const backlogPods = Math.min(drainPods, backlogShare * steadyPods + backlogExtraPods)
  // Batches fill their slots completely, so utilization plays no part.
  const batchPods = (clampValue(demand.batchSlots) + clampValue(demand.batchProcessing)) / slots

  // The small allowance keeps 3.0000000000000004 pods from becoming four.
  const sum = Math.ceil(steadyPods + backlogPods + batchPods - 1e-9)
  const wanted = Math.max(sum, isIdle(demand) ? 0 : 1)
  const isServiceAssumed = measured === 0
  return { ...rates, serviceSeconds, isServiceAssumed, excess, steadyPods, backlogPods, batchPods, wanted }
}

/** The mean over 30 s, or over 3 s when that is higher by two deviations of a Poisson count. */
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
