// The input and the output of a scaling decision, both plain data.
import type { Demand } from '@matte/core/scale/demand'
import type { Bounds, Limit } from './bounds.ts'
import type { ScaleMemory } from './stabilization.ts'

/** The pool's `scaling`, which pool/spec/scaling.ts describes, with its schedules resolved for this moment. */
export type EffectiveScaling = Bounds & {
  readonly p95Seconds: number
  readonly utilization: number
  readonly panicWindowSeconds: number
  /** Undefined: derived from the start-up time. */
  readonly stabilizationWindowSeconds?: number | undefined
  readonly fallback: { readonly afterSeconds: number; readonly replicas: number }
}

export type ScaleInput = {
  /** Any monotonic clock. */
  readonly nowSeconds: number
  readonly scaling: EffectiveScaling
  /** The last demand that was read; undefined: never read. */
  readonly demand: Demand | undefined
  readonly demandAgeSeconds: number
  /** Time since the first pass of this leader over the pool; before it the leader has not asked for the demand. */
  readonly ledSeconds: number
  readonly slotsPerPod: number
  readonly pods: {
    /** Desired now. */
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
  /** The rule that won. */
  readonly rule: Rule
  readonly sentence: string
  /** The bound that changed `replicas`. */
  readonly limited?: Limit
  /** The demand and the terms that were computed from it; finite numbers only. */
  readonly inputs: Readonly<Record<string, number>>
  readonly memory: ScaleMemory
  readonly requeueAfterMs: number
}
