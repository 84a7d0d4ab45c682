// What this process is made of, in the order of its start; it stops in reverse.
import { availableParallelism, hostname } from 'node:os'
import { openBus } from '@matte/core/bus/bus'
import { consume } from '@matte/core/bus/consume'
import { durables } from '@matte/core/bus/durables'
import { createNudge } from '@matte/core/bus/nudge'
import { connectionOf } from '@matte/core/database-settings'
import { openDatabase } from '@matte/core/db/database'
import { schemaAtStart } from '@matte/core/db/schema'
import { describeConfig } from '@matte/core/runtime/env'
import { healthServer, readiness } from '@matte/core/runtime/health'
import { createLogger } from '@matte/core/runtime/logger'
import { createEdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import type { Service } from '@matte/core/runtime/service'
import { tracing } from '@matte/core/runtime/tracing'
import { openBucket } from '@matte/core/storage/bucket'
import { storeProbe } from '@matte/core/storage/store-probe'
import { claimNextTask } from '@matte/core/task/run/claim-task'
import type { Logger } from 'pino'
import { type Config, schema } from './config.ts'
import { sweepers } from './sweepers.ts'
import { configureHeap, configureSharp } from './worker/image/configure.ts'
import { createImageMemory } from './worker/image/image-memory.ts'
import { createImagePool } from './worker/image/image-pool.ts'
import { createSharpCalls } from './worker/image/sharp-calls.ts'
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
  const { database, bus, bucket, store, registry } = edges
  const serving = await buildServing(config, edges)
  const picker = createPodPicker(serving.source)
  registerPodGauges(registry, serving.source, picker)
  const databaseSchema = schemaAtStart(database, { logger, roles: ['worker'] })
  const ready = readiness(databaseSchema.checks)
  return {
    logger,
    services: [
      tracing('controller', config.otlpEndpoint),
      database,
      // Before what may take long: a process that migrates is alive, and says what it waits for.
      healthServer({ host: config.host, port: config.healthPort, readiness: ready, registry }),
      databaseSchema,
      { name: 'bucket', start: () => undefined, stop: () => bucket.close() },
      store,
      bus,
      ...serving.services,
      ...buildWorker(config, edges, { source: serving.source, picker }),
      ...sweepers(config, edges),
      ...serving.leading(picker),
    ],
  }
}

/** What this process shares with the others, and the means to watch it. */
type Edges = ReturnType<typeof openEdges>

function openEdges(config: Config, logger: Logger) {
  const { databasePoolMax: poolMax } = config
  const registry = createRegistry('controller')
  const metrics = createEdgeMetrics(registry, [
    ...(['database', 'nats', 'store', 'triton'] as const),
    ...(config.tritonPools ? (['kubernetes'] as const) : []),
  ])
  const database = openDatabase({
    ...connectionOf(config),
    poolMax,
    applicationName: 'matte-controller',
    logger,
    metrics,
  })
  const bucket = openBucket({
    internalEndpoint: config.s3Endpoint,
    publicEndpoint: config.s3Endpoint,
    bucket: config.s3Bucket,
    region: config.s3Region,
    accessKeyId: config.s3AccessKeyId,
    secretAccessKey: config.s3SecretAccessKey,
    sessionToken: config.s3SessionToken,
    metrics,
  })
  const bus = openBus({
    url: config.natsUrl,
    prefix: config.natsStreamPrefix,
    name: 'matte-controller',
    logger,
    metrics,
  })
  // The bucket is the API's to make: an empty one in place of one that is gone would lack every input.
  const store = storeProbe({ probe: bucket.probe }, logger)
  const taskMetrics = createTaskMetrics(registry, config.plans)
  return { database, db: database.db, bus, bucket, store, registry, edges: metrics, metrics: taskMetrics, logger }
}

async function buildServing(config: Config, { db, bus, registry, edges, logger }: Edges): Promise<Serving> {
  const metrics = createPodMetrics(registry, edges)
  const licences = config.modelsAllowedLicences
  const common = { db, logger, Stub: loadTriton(), channels: config.channelsPerPod, licences }
  if (!config.tritonPools) return staticMode({ ...common, metrics, models: config.modelsStatic })
  // Not above: it brings the Kubernetes client, which nothing else needs (D84).
  const { kubernetesMode } = await import('./operator/kubernetes-mode.ts')
  const { kubeNamespace: namespace, plans, podPatch } = config
  const platform = { userIds: config.podUserIds, ipv6: config.podIpv6 }
  const rest = { bus, registry, edges, namespace, plans, podPatch, platform }
  return kubernetesMode({ ...common, ...rest, podMetrics: metrics })
}

type Routing = { readonly source: PodSource; readonly picker: PodPicker }

/** What claims tasks and runs them. */
function buildWorker(config: Config, edges: Edges, { source, picker }: Routing): readonly Service[] {
  const { db, bus, bucket, store, registry, metrics, logger } = edges
  const { plans, claimMs, inferenceTimeoutMs } = config
  // Several processes of one machine share its host name.
  const inferences = inferenceRecord({ db, replica: `${hostname()}-${process.pid}`, logger })
  const images = createImagePool(config.imageThreads || availableParallelism())
  const nudge = createNudge(bus, logger)
  const deps = {
    db,
    bucket,
    store,
    picker,
    images,
    sharpCalls: createSharpCalls(sharpCallsMaxOf(config, logger)),
    memory: createImageMemory(config.imageMemoryBytes),
    plans,
    claimMs,
    inferenceTimeoutMs,
    faultInjection: config.environment !== 'production',
    metrics,
    inferences,
    logger,
    nudgeDelivery: nudge.delivery,
    nudgeChange: nudge.change,
  }
  const slots = createSlots({
    source,
    store,
    ahead: config.slotsAhead,
    inFlightMax: config.tasksInFlightMax,
    claimEveryMs: config.claimEveryMs,
    claim: async (models) => {
      const task = await claimNextTask(db, { models, plans, claimMs })
      if (task !== undefined) nudge.change(task.workspaceId)
      return task
    },
    claimFailed: () => metrics.claims.failures.inc({ kind: 'task' }),
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
 * One image a core, and two threads of Node's pool to spare: files, zlib and whatever else needs one
 * would wait for whole images.
 */
function sharpCallsMaxOf({ threadPoolSize }: Config, logger: Logger): number {
  const cores = availableParallelism()
  const atOnceMax = Math.min(cores, threadPoolSize - 2)
  if (atOnceMax < cores)
    logger.warn({ cores, images_at_once: atOnceMax }, 'UV_THREADPOOL_SIZE is below cores + 2: cores stay idle')
  return atOnceMax
}
