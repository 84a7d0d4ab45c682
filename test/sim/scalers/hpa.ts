// Conversion of a metric to pods by a HorizontalPodAutoscaler, with the defaults of
// https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/: a decision each 15 s; no change within 10
// % of the target; up by the larger of +100 % and 4 pods in 15 s, down after 5 min.
import type { PoolView } from '../pool.ts'
import { clamp, type Scaler, type Setting, windowMax } from './scaler.ts'

export const periodSeconds = 15
const tolerance = 0.1

export type HpaRules = {
  /** Share of the period at which it decides. */
  readonly phase: number
  /** The object's `behavior`, or defaults. */
  readonly stabilizationSeconds?: number
  readonly upTo?: (desired: number) => number
}

const byDefault = (desired: number): number => Math.max(desired * 2, desired + 4)

export type Recommendation = {
  /** Pods by the metric alone. */
  readonly replicas: number
  /** The metric over its target. */
  readonly ratio: number
}

/** Decides at `phase` of each period. `recommend` returns undefined while it has no metric: nothing changes then. */
export function hpaScaler(
  setting: Setting,
  { phase, stabilizationSeconds = 300, upTo = byDefault }: HpaRules,
  recommend: (view: PoolView) => Recommendation | undefined,
): Scaler {
  const firstSecond = Math.floor(phase * periodSeconds)
  const stabilize = windowMax(stabilizationSeconds / periodSeconds)
  return (view) => {
    if (view.now % periodSeconds !== firstSecond) return view.desired
    const recommendation = recommend(view)
    if (!recommendation) return view.desired
    const isNear = Math.abs(recommendation.ratio - 1) <= tolerance
    const wanted = clamp(isNear ? view.desired : recommendation.replicas, setting)
    const stabilized = stabilize(wanted)
    if (wanted > view.desired) return Math.min(wanted, upTo(view.desired))
    return Math.min(stabilized, view.desired)
  }
}
