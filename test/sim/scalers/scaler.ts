import type { PoolView } from '../pool.ts'
import type { Trace } from '../trace.ts'

/** Common settings of all scalers. */
export type Setting = {
  /** Time until a desired pod is ready. */
  readonly startSeconds: number
  readonly minReplicas: number
  readonly maxReplicas: number
}

/** Called each second; returns the desired pods. One instance per run. */
export type Scaler = (view: PoolView) => number

/** `trace` is for scalers that know the future, and for the phase of periodic ones. */
export type MakeScaler = (setting: Setting, trace: Trace) => Scaler

export const clamp = (replicas: number, { minReplicas, maxReplicas }: Setting): number =>
  Math.min(Math.max(replicas, minReplicas), maxReplicas)

/** The highest of the last `size` values. */
export function windowMax(size: number): (value: number) => number {
  const ring = new Float64Array(size)
  let index = 0
  return (value) => {
    ring[index % size] = value
    index += 1
    return ring.reduce((most, one) => Math.max(most, one), 0)
  }
}
