import { openBus } from '@matte/core/bus/bus'
import { consume } from '@matte/core/bus/consume'
import { durables } from '@matte/core/bus/durables'
import { checkClock } from '@matte/core/db/check-clock'
import { openDatabase } from '@matte/core/db/database'
import { checkSchema, migrateAtStart } from '@matte/core/db/migrate'
import { systemClock } from '@matte/core/runtime/clock'
import { describeConfig } from '@matte/core/runtime/env'
import { healthServer } from '@matte/core/runtime/health'
import { createLogger } from '@matte/core/runtime/logger'
import { runMain, runServices } from '@matte/core/runtime/main'
import { createRegistry } from '@matte/core/runtime/metrics'
import { tracing } from '@matte/core/runtime/tracing'
import { settingsCache } from '@matte/core/setting/settings-cache'
import { readConfig, schema } from './config.ts'
import { deliver } from './deliver.ts'
import { createDeliveryMetrics } from './delivery-metrics.ts'
import { dueLoop } from './due-loop.ts'
import { createHttpClient } from './http-client.ts'

await runMain(async () => {
  const config = readConfig(process.env)
  const logger = createLogger('dispatcher', config.logLevel)
  logger.info({ config: describeConfig(schema, config) }, 'configuration read')
  const registry = createRegistry('dispatcher')
  const metrics = createDeliveryMetrics(registry)
  const database = openDatabase({
    url: config.databaseUrl,
    poolMax: config.databasePoolMax,
    logger,
    applicationName: 'matte-dispatcher',
  })
  const { db } = database
  const settings = settingsCache(db, logger)
  const bus = openBus({ url: config.natsUrl, prefix: config.natsStreamPrefix, logger, name: 'matte-dispatcher' })
  const timeoutMs = config.timeoutSeconds * 1_000
  const http = createHttpClient({ deniedNetworks: config.deniedNetworks, timeoutMs })
  const deps = {
    db,
    http,
    masterKeys: config.masterKeys,
    allowedTargets: () => settings.current().allowedTargets,
    retry: { maxRetries: config.maxRetries, retryUnitMs: config.retryUnitSeconds * 1_000 },
    clock: systemClock,
    metrics,
    logger,
  }
  const due = dueLoop({
    db,
    deliver: (assignment, signal) => deliver(deps, assignment, signal),
    slots: config.concurrency,
    timeoutMs,
    // The rest of the limit is for giving deliveries back and closing connections.
    finishWithinMs: Math.floor(config.stopWithinMs * 0.7),
    clock: systemClock,
    metrics,
    logger,
  })
  const checks = { database: () => checkSchema(db), clock: () => checkClock(db) }
  await runServices({
    logger,
    stopWithinMs: config.stopWithinMs,
    services: [
      tracing('dispatcher', config.otlpEndpoint),
      database,
      { name: 'schema', start: () => migrateAtStart(db, logger), stop: () => undefined },
      healthServer({ host: config.host, port: config.healthPort, checks, registry }),
      settings,
      { name: 'http-client', start: () => undefined, stop: () => http.close() },
      bus,
      due,
      consume({
        bus,
        durable: durables.deliveryNudges(config.natsStreamPrefix),
        ready: due.untilFree,
        wake: due.wake,
        logger,
      }),
    ],
  })
})
