// Conversion of a metric to pods by a HorizontalPodAutoscaler, with the defaults of
// https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/: a decision each 15 s; no change within 10
// % of the target; down after 5 min. An object without `behavior` doubles its pods at most, or gets 4, in one decision
// (`scaleUpLimitFactor` and `scaleUpLimitMinimum` in kubernetes/pkg/controller/podautoscaler/horizontal.go).
import type { PoolView } from '../pool.ts'
import { clamp, type Scaler, type Setting, windowMax } from './scaler.ts'

export const periodSeconds = 15
const tolerance = 0.1

export type HpaRules = {
  /** Share of the period at which it decides. */
  readonly phase: number
  /** Time between two decisions: `--horizontal-pod-autoscaler-sync-period` of the controller manager. */
  readonly syncSeconds?: number
  /** The object's `behavior`, or defaults. */
  readonly stabilizationSeconds?: number
  readonly upTo?: (desired: number) => number
}

const byDefault = (desired: number): number => Math.max(desired * 2, 4)

export type Recommendation = {
  /** Pods by the metric alone. */
  readonly replicas: number
  /** The metric over its target. */
  readonly ratio: number
}

/** Decides at `phase` of each period. `recommend` returns undefined while it has no metric: nothing changes then. */
export function hpaScaler(
  setting: Setting,
  { phase, syncSeconds = periodSeconds, stabilizationSeconds = 300, upTo }: HpaRules,
  recommend: (view: PoolView) => Recommendation | undefined,
): Scaler {
  const firstSecond = Math.floor(phase * syncSeconds)
  const stabilize = windowMax(Math.ceil(stabilizationSeconds / syncSeconds))
  let isNew = true
  return (view) => {
    if (view.now % syncSeconds !== firstSecond) return view.desired
    // The autoscaler takes the number that it finds as its first recommendation.
    if (isNew) stabilize(view.desired)
    isNew = false
    const recommendation = recommend(view)
    if (!recommendation) return view.desired
    const isNear = Math.abs(recommendation.ratio - 1) <= tolerance
    const wanted = clamp(isNear ? view.desired : recommendation.replicas, setting)
    const stabilized = stabilize(wanted)
    // Without `behavior`, the highest recommendation of the window also raises the number, within the limit.
    const up = upTo === undefined ? stabilized : wanted
    if (up > view.desired) return Math.min(up, (upTo ?? byDefault)(view.desired))
    return Math.min(stabilized, view.desired)
  }
}
