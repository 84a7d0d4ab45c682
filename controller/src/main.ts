import { availableParallelism, hostname } from 'node:os'
import { type Bus, openBus } from '@matte/core/bus/bus'
import { consume } from '@matte/core/bus/consume'
import { createNudge } from '@matte/core/bus/nudge'
import { publishDeadLetter } from '@matte/core/bus/publish'
import { durables } from '@matte/core/bus/streams'
import { checkClock } from '@matte/core/db/check-clock'
import { type Db, openDatabase } from '@matte/core/db/database'
import { checkSchema, migrateAtStart } from '@matte/core/db/migrate'
import { describeConfig } from '@matte/core/runtime/env'
import { healthServer } from '@matte/core/runtime/health'
import { createLogger } from '@matte/core/runtime/logger'
import { runMain, runServices } from '@matte/core/runtime/main'
import { createRegistry } from '@matte/core/runtime/metrics'
import { tracing } from '@matte/core/runtime/tracing'
import { openBucket } from '@matte/core/storage/bucket'
import { claimNextTask } from '@matte/core/task/claim-task'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Config, readConfig, schema } from './config.ts'
import { configureHeap } from './worker/image/configure-heap.ts'
import { configureSharp } from './worker/image/configure-sharp.ts'
import { createImagePool } from './worker/image/image-pool.ts'
import { createPixelBudget } from './worker/image/pixel-budget.ts'
import { inferenceRecord } from './worker/inference-record.ts'
import { createPodMetrics, registerPodGauges } from './worker/routing/pod-metrics.ts'
import { createPodPicker } from './worker/routing/pod-picker.ts'
import { runTask } from './worker/run-task.ts'
import type { Serving } from './worker/serving.ts'
import { createSlots } from './worker/slots.ts'
import { staticMode } from './worker/static-mode.ts'
import { retentionSweeper } from './worker/sweep/retention-sweeper.ts'
import { sweeper } from './worker/sweep/task-sweeper.ts'
import { createTaskMetrics, registerGauges } from './worker/task-metrics.ts'
import { loadTriton } from './worker/triton/triton-protocol.ts'

await runMain(async () => {
  const config = readConfig(process.env)
  const logger = createLogger('controller', config.logLevel)
  logger.info({ config: describeConfig(schema, config) }, 'configuration read')
  configureHeap()
  configureSharp()
  const registry = createRegistry('controller')
  const database = openDatabase({
    url: config.databaseUrl,
    poolMax: config.databasePoolMax,
    applicationName: 'matte-controller',
    logger,
  })
  const { db } = database
  const bus = openBus({ url: config.natsUrl, prefix: config.natsStreamPrefix, name: 'matte-controller', logger })
  const bucket = openBucket({
    internalEndpoint: config.s3Endpoint,
    publicEndpoint: config.s3Endpoint,
    bucket: config.s3Bucket,
    region: config.s3Region,
    accessKeyId: config.s3AccessKeyId,
    secretAccessKey: config.s3SecretAccessKey,
    sessionToken: config.s3SessionToken,
  })
  const nudge = createNudge(bus, logger)
  const serving = await servingOf(config, { db, bus, registry, logger })
  const { source } = serving
  const picker = createPodPicker(source)
  // Several processes of one machine share its host name.
  const inferences = inferenceRecord({ db, replica: `${hostname()}-${process.pid}`, logger })
  const images = createImagePool({ threads: config.imageThreads || availableParallelism() })
  const deps = {
    db,
    bucket,
    picker,
    images,
    pixels: createPixelBudget(config.pixelBudget),
    plans: config.plans,
    claimMs: config.claimMs,
    inferenceTimeoutMs: config.inferenceTimeoutMs,
    faultInjection: config.environment !== 'production',
    metrics: createTaskMetrics(registry),
    inferences,
    logger,
    nudgeDelivery: nudge.delivery,
  }
  const slots = createSlots({
    source,
    ahead: config.slotsAhead,
    inFlightMax: config.tasksInFlightMax,
    claimEveryMs: config.claimEveryMs,
    claim: (models) => claimNextTask(db, { models, plans: config.plans, claimMs: config.claimMs }),
    run: (task, signal) => runTask(deps, task, signal),
    // The rest of the limit is for giving tasks back and closing connections.
    finishWithinMs: Math.floor(config.stopWithinMs * 0.7),
    logger,
  })
  registerGauges(registry, {
    tasksInFlight: slots.tasksInFlight,
    slotsUsed: picker.slotsUsed,
  })
  registerPodGauges(registry, source, picker)
  const checks = { database: () => checkSchema(db), clock: () => checkClock(db) }
  await runServices({
    logger,
    stopWithinMs: config.stopWithinMs,
    services: [
      tracing('controller', config.otlpEndpoint),
      { name: 'images', start: () => undefined, stop: () => images.close() },
      database,
      { name: 'schema', start: () => migrateAtStart(db, logger), stop: () => undefined },
      healthServer({ host: config.host, port: config.healthPort, checks, registry }),
      { name: 'bucket', start: () => undefined, stop: () => bucket.close() },
      bus,
      ...serving.services,
      inferences,
      slots,
      consume({
        bus,
        durable: durables.taskNudges(config.natsStreamPrefix),
        ready: slots.untilRoom,
        wake: slots.lookNow,
        logger,
      }),
      sweeper({
        db,
        everyMs: config.sweepEveryMs,
        maxQueueAgeMs: config.maxQueueAgeSeconds * 1_000,
        publishDeadLetter: (letter, id) =>
          publishDeadLetter(bus, { modelVersion: letter.modelVersion, body: letter, id }),
        logger,
      }),
      retentionSweeper({ db, bucket, plans: config.plans, everyMs: config.retentionEveryMs, logger }),
      ...serving.leading(picker),
    ],
  })
})

type ServingDeps = {
  readonly db: Db
  readonly bus: Bus
  readonly registry: Registry
  readonly logger: Logger
}

async function servingOf(config: Config, deps: ServingDeps): Promise<Serving> {
  const common = {
    ...deps,
    Stub: loadTriton(),
    channels: config.channelsPerPod,
    podMetrics: createPodMetrics(deps.registry),
  }
  if (!config.tritonPools) return staticMode({ ...common, models: config.modelsStatic })
  // Not above: it brings the Kubernetes client, which nothing else needs (D84).
  const { kubernetesMode } = await import('./operator/kubernetes-mode.ts')
  return kubernetesMode({ ...common, namespace: config.kubeNamespace, plans: config.plans })
}
