import type { Service } from '@matte/core/runtime/service'
import type { PodSource } from './routing/pod-source.ts'

/** The pods that the worker sends to: static-mode.ts, or those of TritonPools (operator/pool-routing.ts). */
export type Serving = {
  readonly source: PodSource
  /** In the order of their start, the source included. */
  readonly services: readonly Service[]
}
