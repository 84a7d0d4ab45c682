import type { PoolView } from '../pool.ts'
import type { Trace } from '../trace.ts'

/** What all scalers are given: one image per pod, and the same bounds. */
export type Setting = {
  /** From asked for to ready. */
  readonly startSeconds: number
  readonly minReplicas: number
  readonly maxReplicas: number
}

/** Asked each second how many pods there should be. Stateful: one for each run. */
export type Scaler = (view: PoolView) => number

/** `trace` is for those that know the future, and for the phase of those with a period of their own. */
export type MakeScaler = (setting: Setting, trace: Trace) => Scaler

export const clamp = (replicas: number, { minReplicas, maxReplicas }: Setting): number =>
  Math.min(Math.max(replicas, minReplicas), maxReplicas)

/** The most of the answers of the last so many looks. */
export function windowMax(looks: number): (value: number) => number {
  const ring = new Float64Array(looks)
  let index = 0
  return (value) => {
    ring[index % looks] = value
    index += 1
    return ring.reduce((most, one) => Math.max(most, one), 0)
  }
}
