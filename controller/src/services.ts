// What this process is made of, in the order of its start; it stops in reverse.
import { availableParallelism, hostname } from 'node:os'
import { type Bus, openBus } from '@matte/core/bus/bus'
import { consume } from '@matte/core/bus/consume'
import { durables } from '@matte/core/bus/durables'
import { createNudge } from '@matte/core/bus/nudge'
import { publishDeadLetter } from '@matte/core/bus/publish'
import { checkClock } from '@matte/core/db/check-clock'
import { type Database, openDatabase } from '@matte/core/db/database'
import { checkSchema, migrateAtStart } from '@matte/core/db/migrate'
import { describeConfig } from '@matte/core/runtime/env'
import { healthServer } from '@matte/core/runtime/health'
import { createLogger } from '@matte/core/runtime/logger'
import { createRegistry } from '@matte/core/runtime/metrics'
import type { Service } from '@matte/core/runtime/service'
import { tracing } from '@matte/core/runtime/tracing'
import { type Bucket, openBucket } from '@matte/core/storage/bucket'
import { claimNextTask } from '@matte/core/task/run/claim-task'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Config, schema } from './config.ts'
import { configureHeap } from './worker/image/configure-heap.ts'
import { configureSharp } from './worker/image/configure-sharp.ts'
import { createImagePool } from './worker/image/image-pool.ts'
import { createPixelBudget } from './worker/image/pixel-budget.ts'
import { inferenceRecord } from './worker/inference-record.ts'
import { createPodMetrics, registerPodGauges } from './worker/routing/pod-metrics.ts'
import { createPodPicker, type PodPicker } from './worker/routing/pod-picker.ts'
import type { PodSource } from './worker/routing/pod-source.ts'
import { runTask } from './worker/run-task.ts'
import type { Serving } from './worker/serving.ts'
import { createSlots } from './worker/slots.ts'
import { staticMode } from './worker/static-mode.ts'
import { retentionSweeper } from './worker/sweep/retention-sweeper.ts'
import { sweeper } from './worker/sweep/task-sweeper.ts'
import { createTaskMetrics, registerGauges } from './worker/task-metrics.ts'
import { loadTriton } from './worker/triton/triton-protocol.ts'

type Services = { readonly logger: Logger; readonly services: readonly Service[] }

export async function buildServices(config: Config): Promise<Services> {
  const logger = createLogger('controller', config.logLevel)
  logger.info({ config: describeConfig(schema, config) }, 'configuration read')
  configureHeap()
  configureSharp()
  const edges = openEdges(config, logger)
  const { database, db, bus, bucket, registry } = edges
  const serving = await buildServing(config, edges)
  const picker = createPodPicker(serving.source)
  registerPodGauges(registry, serving.source, picker)
  const checks = { database: () => checkSchema(db), clock: () => checkClock(db) }
  return {
    logger,
    services: [
      tracing('controller', config.otlpEndpoint),
      database,
      { name: 'schema', start: () => migrateAtStart(db, logger), stop: () => undefined },
      healthServer({ host: config.host, port: config.healthPort, checks, registry }),
      { name: 'bucket', start: () => undefined, stop: () => bucket.close() },
      bus,
      ...serving.services,
      ...buildWorker(config, edges, { source: serving.source, picker }),
      ...buildSweepers(config, edges),
      ...serving.leading(picker),
    ],
  }
}

/** What this process shares with the others, and the means to watch it. */
type Edges = {
  readonly database: Database
  readonly db: Database['db']
  readonly bus: Bus
  readonly bucket: Bucket
  readonly registry: Registry
  readonly logger: Logger
}

function openEdges(config: Config, logger: Logger): Edges {
  const { databaseUrl: url, databasePoolMax: poolMax } = config
  const database = openDatabase({ url, poolMax, applicationName: 'matte-controller', logger })
  const bucket = openBucket({
    internalEndpoint: config.s3Endpoint,
    publicEndpoint: config.s3Endpoint,
    bucket: config.s3Bucket,
    region: config.s3Region,
    accessKeyId: config.s3AccessKeyId,
    secretAccessKey: config.s3SecretAccessKey,
    sessionToken: config.s3SessionToken,
  })
  const bus = openBus({ url: config.natsUrl, prefix: config.natsStreamPrefix, name: 'matte-controller', logger })
  return { database, db: database.db, bus, bucket, registry: createRegistry('controller'), logger }
}

async function buildServing(config: Config, { db, bus, registry, logger }: Edges): Promise<Serving> {
  const podMetrics = createPodMetrics(registry)
  const common = { db, bus, registry, logger, Stub: loadTriton(), channels: config.channelsPerPod, podMetrics }
  if (!config.tritonPools) return staticMode({ ...common, models: config.modelsStatic })
  // Not above: it brings the Kubernetes client, which nothing else needs (D84).
  const { kubernetesMode } = await import('./operator/kubernetes-mode.ts')
  return kubernetesMode({ ...common, namespace: config.kubeNamespace, plans: config.plans })
}

type Routing = { readonly source: PodSource; readonly picker: PodPicker }

/** What claims tasks and runs them. */
function buildWorker(config: Config, edges: Edges, { source, picker }: Routing): readonly Service[] {
  const { db, bus, bucket, registry, logger } = edges
  const { plans, claimMs } = config
  // Several processes of one machine share its host name.
  const inferences = inferenceRecord({ db, replica: `${hostname()}-${process.pid}`, logger })
  const images = createImagePool({ threads: config.imageThreads || availableParallelism() })
  const deps = {
    db,
    bucket,
    picker,
    images,
    pixels: createPixelBudget(config.pixelBudget),
    plans,
    claimMs,
    inferenceTimeoutMs: config.inferenceTimeoutMs,
    faultInjection: config.environment !== 'production',
    metrics: createTaskMetrics(registry),
    inferences,
    logger,
    nudgeDelivery: createNudge(bus, logger).delivery,
  }
  const slots = createSlots({
    source,
    ahead: config.slotsAhead,
    inFlightMax: config.tasksInFlightMax,
    claimEveryMs: config.claimEveryMs,
    claim: (models) => claimNextTask(db, { models, plans, claimMs }),
    run: (task, signal) => runTask(deps, task, signal),
    // The rest of the limit is for giving tasks back and closing connections.
    finishWithinMs: Math.floor(config.stopWithinMs * 0.7),
    logger,
  })
  registerGauges(registry, { tasksInFlight: slots.tasksInFlight, slotsUsed: picker.slotsUsed })
  const durable = durables.taskNudges(config.natsStreamPrefix)
  return [
    { name: 'images', start: () => undefined, stop: () => images.close() },
    inferences,
    slots,
    consume({ bus, durable, ready: slots.untilRoom, wake: slots.lookNow, logger }),
  ]
}

/** What ends by time; every replica sweeps. */
function buildSweepers(config: Config, { db, bus, bucket, logger }: Edges): readonly Service[] {
  return [
    sweeper({
      db,
      everyMs: config.sweepEveryMs,
      maxQueueAgeMs: config.maxQueueAgeSeconds * 1_000,
      publishDeadLetter: (letter, id) =>
        publishDeadLetter(bus, { modelVersion: letter.modelVersion, body: letter, id }),
      logger,
    }),
    retentionSweeper({ db, bucket, plans: config.plans, everyMs: config.retentionEveryMs, logger }),
  ]
}
