import { availableParallelism, hostname } from 'node:os'
import { consume } from '@matte/core/bus/consume'
import { createNudge } from '@matte/core/bus/nudge'
import { durables } from '@matte/core/bus/streams'
import { schemaAtStart } from '@matte/core/db/schema'
import { describeConfig } from '@matte/core/runtime/env'
import { healthServer, readiness } from '@matte/core/runtime/health'
import { createLogger } from '@matte/core/runtime/logger'
import type { Service } from '@matte/core/runtime/service'
import { tracing } from '@matte/core/runtime/tracing'
import { openBucket } from '@matte/core/storage/bucket'
import { storeProbe } from '@matte/core/storage/store-probe'
import { storeKeysOf } from '@matte/core/storage/store-settings'
import { claimNextTasks } from '@matte/core/task/run/claim-task'
import type { Logger } from 'pino'
import { type Config, releaseOf, schema } from './config.ts'
import { openEdges } from './edges.ts'
import { sweepers } from './sweepers.ts'
import { configureHeap, configureSharp } from './worker/image/configure.ts'
import { createImageMemory } from './worker/image/image-memory.ts'
import { createImagePool } from './worker/image/image-pool.ts'
import { createSharpCalls } from './worker/image/sharp-calls.ts'
import { inferenceRecord } from './worker/inference-record.ts'
import { reportSlots } from './worker/report-slots.ts'
import { createPodMetrics, registerPodGauges } from './worker/routing/pod-metrics.ts'
import { createPodPicker, type PodPicker } from './worker/routing/pod-picker.ts'
import type { PodSource, Serving } from './worker/routing/pod-source.ts'
import { runTask } from './worker/run-task.ts'
import { createSlots } from './worker/slots.ts'
import { staticMode } from './worker/static-mode.ts'
import { createTaskMetrics, registerGauges } from './worker/task-metrics.ts'
import { loadTriton } from './worker/triton/triton-protocol.ts'

export async function buildServices(config: Config): Promise<{ logger: Logger; services: Service[] }> {
  const logger = createLogger('worker', config.logLevel)
  logger.info({ config: describeConfig(schema, config) }, 'configuration read')
  configureHeap()
  configureSharp()
  const edges = openWorkerEdges(config, logger)
  const { database, bus, bucket, store, registry } = edges
  const serving = await buildServing(config, edges)
  const picker = createPodPicker(serving.source)
  registerPodGauges(registry, serving.source, picker)
  const databaseSchema = schemaAtStart(database, { logger, roles: ['worker'] })
  const ready = readiness(databaseSchema.checks)
  return {
    logger,
    services: [
      tracing('worker', config.otlpEndpoint),
      database,
      // Started before the slow services, so a process that waits for a migration reports that it is alive.
      healthServer({ host: config.host, port: config.healthPort, readiness: ready, registry }),
      databaseSchema,
      { name: 'bucket', start: () => undefined, stop: () => bucket.close() },
      store,
      bus,
      ...serving.services,
      ...buildWorker(config, edges, { source: serving.source, picker }),
      ...sweepers(config, edges),
    ],
  }
}

type WorkerEdges = ReturnType<typeof openWorkerEdges>

function openWorkerEdges(config: Config, logger: Logger) {
  const kubernetes = config.tritonPools ? (['kubernetes'] as const) : []
  const edges = openEdges({ process: 'worker', config, more: ['store', 'triton', ...kubernetes], logger })
  const bucket = openBucket({
    internalEndpoint: config.s3Endpoint,
    publicEndpoint: config.s3Endpoint,
    bucket: config.s3Bucket,
    region: config.s3Region,
    ...storeKeysOf(config, (error) => {
      edges.edges.failed('store', error)
      logger.warn({ err: error }, 'keys of the object store were not renewed')
    }),
    metrics: edges.edges,
  })
  // Only the API creates the bucket: a new empty bucket would lack every input.
  const store = storeProbe({ probe: bucket.probe }, logger)
  return { ...edges, bucket, store, metrics: createTaskMetrics(edges.registry, config.plans) }
}

async function buildServing(config: Config, { db, registry, edges, logger }: WorkerEdges): Promise<Serving> {
  const metrics = createPodMetrics(registry, edges)
  const licences = config.modelsAllowedLicences
  const common = { db, logger, Stub: loadTriton(), channels: config.channelsPerPod, licences, metrics }
  if (!config.tritonPools) return staticMode({ ...common, models: config.modelsStatic })
  // Imported here, because only this mode needs the Kubernetes client.
  const { poolRouting } = await import('./operator/pool-routing.ts')
  const namespaces = { namespace: config.kubeNamespace, moreNamespaces: config.kubeNamespaces }
  return poolRouting({ ...common, registry, edges, ...namespaces, release: releaseOf(config) })
}

type Routing = { readonly source: PodSource; readonly picker: PodPicker }

function buildWorker(config: Config, edges: WorkerEdges, { source, picker }: Routing): readonly Service[] {
  const { db, bus, bucket, store, registry, metrics, logger } = edges
  const { plans, claimMs, inferenceTimeoutMs } = config
  // Includes the process id, because processes of one machine share its host name.
  const replica = `${hostname()}-${process.pid}`
  const inferences = inferenceRecord({ db, replica, logger })
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
    claim: async ({ versions, tasks: limit }) => {
      const claims = await claimNextTasks(db, { models: versions, limit, plans, claimMs })
      for (const workspaceId of new Set(claims.tasks.map((task) => task.workspaceId))) nudge.change(workspaceId)
      return claims
    },
    claimFailed: () => metrics.claims.failures.inc({ kind: 'task' }),
    run: (task, signal) => runTask(deps, task, signal),
    // The remaining time is for returning tasks and closing connections.
    finishWithinMs: Math.floor(config.stopWithinMs * 0.7),
    logger,
  })
  registerGauges(registry, {
    tasksInFlight: slots.tasksInFlight,
    slotsUsed: picker.slotsUsed,
    inFlightMax: config.tasksInFlightMax,
    memory: deps.memory,
  })
  const durable = durables.taskNudges(config.natsStreamPrefix)
  return [
    { name: 'images', start: () => undefined, stop: () => images.close() },
    inferences,
    ...(config.tritonPools ? [reportSlots({ bus, worker: replica, slots: picker.slotsByAddress })] : []),
    slots,
    consume({ bus, durable, ready: slots.untilRoom, wake: slots.lookNow, logger }),
  ]
}

/** One image per core. Two threads of Node's pool stay free for files and zlib. */
function sharpCallsMaxOf({ threadPoolSize }: Config, logger: Logger): number {
  const cores = availableParallelism()
  const atOnceMax = Math.min(cores, threadPoolSize - 2)
  if (atOnceMax < cores)
    logger.warn({ cores, images_at_once: atOnceMax }, 'UV_THREADPOOL_SIZE is below cores + 2: cores stay idle')
  return atOnceMax
}
