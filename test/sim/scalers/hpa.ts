// How a HorizontalPodAutoscaler moves from a metric to pods. Defaults from
// https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/ and the controller's flags: a decision
// each 15 s; nothing changes within 10 % of the target; up by the larger of +100 % and +4 pods each 15 s, not
// stabilized; down by up to 100 % each 15 s, to the highest recommendation of 300 s.
import type { PoolView } from '../pool.ts'
import { clamp, type Scaler, type Setting, windowMax } from './scaler.ts'

export const periodSeconds = 15
const tolerance = 0.1

export type HpaRules = {
  /** When in a period it decides, as a share of it. */
  readonly phase: number
  /** The `behavior` of the object; the defaults where it is left out. */
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
