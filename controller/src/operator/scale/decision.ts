import type { Demand } from '@matte/core/scale/demand'
import type { Bounds, Limit } from './bounds.ts'
import type { ScaleMemory } from './stabilization.ts'

/** The pool's `scaling` (pool/spec/scaling.ts) with schedules resolved. */
export type EffectiveScaling = Bounds & {
  readonly p95Seconds: number
  readonly utilization: number
  readonly panicWindowSeconds: number
  readonly stabilizationWindowSeconds?: number | undefined
  readonly fallback: { readonly afterSeconds: number; readonly replicas: number }
}

export type ScaleInput = {
  readonly nowSeconds: number
  readonly scaling: EffectiveScaling
  readonly demand: Demand | undefined
  readonly demandAgeSeconds: number
  /** Time since this leader's first pass over the pool, before which it read no demand. */
  readonly ledSeconds: number
  readonly slotsPerPod: number
  readonly pods: {
    readonly current: number
    readonly ready: number
    readonly starting: number
    readonly draining: number
  }
  /** Measured from desired to ready; `unmeasuredStartSeconds` before the first pod. */
  readonly startSeconds: number
  readonly memory: ScaleMemory
}

export const rules = [
  'rate',
  'backlog',
  'batch',
  'wake',
  'stabilization',
  'burst',
  'minimum',
  'maximum',
  'schedule',
  'fallback',
  'idle',
  'external',
] as const

export type Rule = (typeof rules)[number]

export type Decision = {
  readonly replicas: number
  readonly rule: Rule
  readonly sentence: string
  readonly limited?: Limit
  /** The demand and its terms; finite numbers only. */
  readonly inputs: Readonly<Record<string, number>>
  readonly memory: ScaleMemory
  readonly requeueAfterMs: number
}
