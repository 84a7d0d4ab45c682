import type { Db } from '@matte/core/db/database'
import type { Logger } from 'pino'
import type { StaticModel } from './config.ts'
import { installModels, staticModels } from './inference/install-models.ts'
import type { PodMetrics } from './inference/pod-metrics.ts'
import { staticPods } from './inference/static-pods.ts'
import type { TritonStubClass } from './inference/triton-protocol.ts'
import type { Serving } from './serving.ts'

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
