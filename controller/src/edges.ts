import { openBus } from '@matte/core/bus/bus'
import { busOf } from '@matte/core/bus-settings'
import { connectionOf } from '@matte/core/database-settings'
import { openDatabase } from '@matte/core/db/database'
import { createEdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import type { Logger } from 'pino'
import type { OperatorConfig } from './operator-config.ts'

type EdgeConfig = Pick<OperatorConfig, 'databasePoolMax'> &
  Parameters<typeof connectionOf>[0] &
  Parameters<typeof busOf>[0]

type EdgeOptions = {
  readonly process: 'worker' | 'operator'
  readonly config: EdgeConfig
  readonly more: readonly ('store' | 'triton' | 'kubernetes')[]
  readonly logger: Logger
}

export function openEdges({ process, config, more, logger }: EdgeOptions) {
  const registry = createRegistry(process)
  const edges = createEdgeMetrics(registry, ['database', 'nats', ...more])
  const name = `matte-${process}`
  const database = openDatabase({
    ...connectionOf(config),
    poolMax: config.databasePoolMax,
    applicationName: name,
    logger,
    metrics: edges,
  })
  const bus = openBus({ ...busOf(config), name, logger, metrics: edges })
  return { database, db: database.db, bus, registry, edges, logger }
}
