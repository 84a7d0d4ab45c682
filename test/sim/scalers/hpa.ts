// How a HorizontalPodAutoscaler moves from a metric to pods. Defaults from
// https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/ and the controller's flags: a decision
// each 15 s; nothing changes within 10 % of the target; up by the larger of +100 % and +4 pods each 15 s, not
// stabilized; down by up to 100 % each 15 s, to the highest recommendation of 300 s.
import type { PoolView } from '../pool.ts'
import { clamp, type Scaler, type Setting, windowMax } from './scaler.ts'

export const periodSeconds = 15
const tolerance = 0.1
const stabilizationSeconds = 300

export type Recommendation = {
  /** Pods by the metric alone. */
  readonly replicas: number
  /** The metric over its target. */
  readonly ratio: number
}

/** Decides at `phase` of each period. `recommend` returns undefined while it has no metric: nothing changes then. */
export function hpaScaler(
  setting: Setting,
  phase: number,
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
    if (wanted > view.desired) return Math.min(wanted, Math.max(view.desired * 2, view.desired + 4))
    return Math.min(stabilized, view.desired)
  }
}
