// What goes into a decision about a pool's pods, and what comes out: plain data both.
import type { Demand } from '@matte/core/scale/demand'
import type { Bounds, Limit } from './bounds.ts'
import type { ScaleMemory } from './stabilization.ts'

/** What the pool's `scaling` says, with the schedules of this moment resolved by `schedule.ts`. */
export type EffectiveScaling = Bounds & {
  /** The lateness bound: an image that takes longer has missed. */
  readonly p95Seconds: number
  /** Load that a slot is planned for, 0..1. */
  readonly utilization: number
  /** How long nothing comes down after the short window was last well above the long one. */
  readonly panicWindowSeconds: number
  /** Undefined: derived from the start-up time. */
  readonly stabilizationWindowSeconds?: number | undefined
  readonly fallback: { readonly afterSeconds: number; readonly replicas: number }
}

export type ScaleInput = {
  /** Any monotonic clock. */
  readonly nowSeconds: number
  readonly scaling: EffectiveScaling
  /** The last figures that were read; undefined: none ever. */
  readonly demand: Demand | undefined
  readonly demandAgeSeconds: number
  readonly slotsPerPod: number
  readonly pods: {
    /** Wanted now. */
    readonly current: number
    readonly ready: number
    readonly starting: number
    readonly draining: number
  }
  /** Measured from wanted to ready; `unmeasuredStartSeconds` before the first. */
  readonly startSeconds: number
  readonly memory: ScaleMemory
}

export type Rule =
  | 'rate'
  | 'backlog'
  | 'batch'
  | 'wake'
  | 'hold'
  | 'burst'
  | 'minimum'
  | 'maximum'
  | 'schedule'
  | 'fallback'
  | 'idle'
  | 'external'

export type Decision = {
  readonly replicas: number
  /** The rule that won. */
  readonly rule: Rule
  /** For people, with the figures in it. */
  readonly sentence: string
  /** The bound that kept the answer from what the figures ask for. */
  readonly limited?: Limit
  /** The figures that went in and the terms that came of them; finite numbers only. */
  readonly inputs: Readonly<Record<string, number>>
  readonly memory: ScaleMemory
  readonly requeueAfterMs: number
}
