// What this process is made of, in the order of its start; it stops in reverse.
import { availableParallelism, hostname } from 'node:os'
import { openBus } from '@matte/core/bus/bus'
import { consume } from '@matte/core/bus/consume'
import { durables } from '@matte/core/bus/durables'
import { createNudge } from '@matte/core/bus/nudge'
import { publishDeadLetter } from '@matte/core/bus/publish'
import { checkClock } from '@matte/core/db/check-clock'
import { openDatabase } from '@matte/core/db/database'
import { checkSchema, migrateAtStart } from '@matte/core/db/migrate'
import { deleteExpiredRequests } from '@matte/core/idempotency/idempotency-queries'
import { sweepRetention } from '@matte/core/retention/sweep-retention'
import { describeConfig } from '@matte/core/runtime/env'
import { healthServer, readiness } from '@matte/core/runtime/health'
import { createLogger } from '@matte/core/runtime/logger'
import { loop } from '@matte/core/runtime/loop'
import { createRegistry } from '@matte/core/runtime/metrics'
import type { Service } from '@matte/core/runtime/service'
import { tracing } from '@matte/core/runtime/tracing'
import { sweepInferenceWindows } from '@matte/core/scale/inference-queries'
import { openBucket } from '@matte/core/storage/bucket'
import { claimNextTask } from '@matte/core/task/run/claim-task'
import { handOverDeadLetters } from '@matte/core/task/run/hand-over-dead-letters'
import { sweepTasks } from '@matte/core/task/run/sweep-tasks'
import type { Logger } from 'pino'
import { type Config, schema } from './config.ts'
import { configureHeap, configureSharp } from './worker/image/configure.ts'
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
import { createTaskMetrics, registerGauges } from './worker/task-metrics.ts'
import { loadTriton } from './worker/triton/triton-protocol.ts'

export async function buildServices(config: Config): Promise<{ logger: Logger; services: Service[] }> {
  const logger = createLogger('controller', config.logLevel)
  logger.info({ config: describeConfig(schema, config) }, 'configuration read')
  configureHeap()
  configureSharp()
  const edges = openEdges(config, logger)
  const { database, db, bus, bucket, registry } = edges
  const serving = await buildServing(config, edges)
  const picker = createPodPicker(serving.source)
  registerPodGauges(registry, serving.source, picker)
  const ready = readiness({ database: () => checkSchema(db), clock: () => checkClock(db) })
  return {
    logger,
    services: [
      tracing('controller', config.otlpEndpoint),
      database,
      { name: 'schema', start: () => migrateAtStart(db, logger), stop: () => undefined },
      healthServer({ host: config.host, port: config.healthPort, readiness: ready, registry }),
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
type Edges = ReturnType<typeof openEdges>

function openEdges(config: Config, logger: Logger) {
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
  const metrics = createPodMetrics(registry)
  const common = { db, logger, Stub: loadTriton(), channels: config.channelsPerPod }
  if (!config.tritonPools) return staticMode({ ...common, metrics, models: config.modelsStatic })
  // Not above: it brings the Kubernetes client, which nothing else needs (D84).
  const { kubernetesMode } = await import('./operator/kubernetes-mode.ts')
  const { kubeNamespace: namespace, plans, podPatch } = config
  return kubernetesMode({ ...common, podMetrics: metrics, bus, registry, namespace, plans, podPatch })
}

type Routing = { readonly source: PodSource; readonly picker: PodPicker }

/** What claims tasks and runs them. */
function buildWorker(config: Config, edges: Edges, { source, picker }: Routing): readonly Service[] {
  const { db, bus, bucket, registry, logger } = edges
  const { plans, claimMs, inferenceTimeoutMs } = config
  // Several processes of one machine share its host name.
  const inferences = inferenceRecord({ db, replica: `${hostname()}-${process.pid}`, logger })
  const images = createImagePool(config.imageThreads || availableParallelism())
  const deps = {
    db,
    bucket,
    picker,
    images,
    pixels: createPixelBudget(config.pixelBudget),
    plans,
    claimMs,
    inferenceTimeoutMs,
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

/**
 * What ends by time. Every replica sweeps and none needs to lead: rows are locked or ended by fenced statements, and
 * objects are deleted twice at worst.
 */
function buildSweepers(config: Config, { db, bus, bucket, logger }: Edges): readonly Service[] {
  const { plans, maxQueueAgeSeconds, sweepEveryMs, retentionEveryMs } = config
  const publish: Parameters<typeof handOverDeadLetters>[1] = (body, id) =>
    publishDeadLetter(bus, { modelVersion: body.modelVersion, body, id })
  const sweep = async () => ({
    runs_ended: await sweepTasks(db, { maxQueueAgeMs: maxQueueAgeSeconds * 1_000 }),
    dead_letters: await handOverDeadLetters(db, publish),
    idempotency_records_deleted: await deleteExpiredRequests(db),
    inference_windows_deleted: await sweepInferenceWindows(db),
  })
  const retain = (signal: AbortSignal) => sweepRetention({ db, bucket, plans }, { signal })
  return [
    loop({ name: 'task-sweeper', everyMs: sweepEveryMs, logger, run: sweep }),
    loop({ name: 'retention-sweeper', everyMs: retentionEveryMs, logger, run: retain }),
  ]
}
