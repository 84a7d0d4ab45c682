// A pool for tests of the scaling rule.
import type { Demand } from '@matte/core/scale/demand'
import type { EffectiveScaling, ScaleInput } from './decision.ts'

export const quiet: Demand = {
  arrivals3s: 0,
  arrivals30s: 0,
  backlog: 0,
  batchSlots: 0,
  batchProcessing: 0,
  processing: 0,
  oldestSeconds: 0,
  serviceSeconds: 0.5,
  p95Seconds: undefined,
  missedShare: undefined,
}

export const scaling: EffectiveScaling = {
  minReplicas: 0,
  maxReplicas: 40,
  p95Seconds: 2,
  utilization: 0.75,
  panicWindowSeconds: 6,
  fallback: { afterSeconds: 30, replicas: 2 },
}

export type Changes = {
  readonly demand?: Partial<Demand> | undefined
  readonly scaling?: Partial<EffectiveScaling>
  readonly pods?: Partial<ScaleInput['pods']>
} & Partial<Omit<ScaleInput, 'demand' | 'scaling' | 'pods'>>

/** A pool of one slot a pod, without memory, at second 1,000. */
export function given(changes: Changes): ScaleInput {
  const { demand, scaling: scalingChanges, pods, ...rest } = changes
  return {
    nowSeconds: 1_000,
    demandAgeSeconds: 0.5,
    ledSeconds: 1_000,
    slotsPerPod: 1,
    startSeconds: 20,
    memory: { peaks: [], burstUntilSeconds: 0 },
    ...rest,
    demand: 'demand' in changes && demand === undefined ? undefined : { ...quiet, ...demand },
    scaling: { ...scaling, ...scalingChanges },
    pods: { current: 1, ready: 1, starting: 0, draining: 0, ...pods },
  }
}

/** This many requests a second, evenly over both windows. */
export const steady = (rate: number): Partial<Demand> => ({ arrivals3s: 3 * rate, arrivals30s: 30 * rate })
