import type { Db } from '@matte/core/db/database'
import type { Logger } from 'pino'
import { installModels, staticModels } from './install-models.ts'
import type { PodMetrics } from './routing/pod-metrics.ts'
import { type StaticModel, staticPods } from './routing/static-pods.ts'
import type { Serving } from './serving.ts'
import type { TritonStubClass } from './triton/triton-protocol.ts'

export type StaticModeOptions = {
  readonly models: readonly StaticModel[]
  readonly channels: number
  readonly Stub: TritonStubClass
  readonly db: Db
  readonly podMetrics: PodMetrics
  readonly logger: Logger
}

/** Pods that somebody else keeps running (D84). */
export function staticMode({ models, channels, Stub, db, podMetrics, logger }: StaticModeOptions): Serving {
  const source = staticPods({ models, Stub, channels, logger, metrics: podMetrics })
  const rows = staticModels(models)
  return { source, services: [installModels({ db, models: () => rows, logger }), source], leading: () => [] }
}
