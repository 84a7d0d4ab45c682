// Services of this process in start order; they stop in reverse. Tests start the same list.

import type { Socket } from 'node:net'
import { type Bus, openBus } from '@matte/core/bus/bus'
import { createNudge } from '@matte/core/bus/nudge'
import { busOf } from '@matte/core/bus-settings'
import { connectionOf } from '@matte/core/database-settings'
import { type Db, openDatabase } from '@matte/core/db/database'
import { schemaAtStart } from '@matte/core/db/schema'
import { systemClock } from '@matte/core/runtime/clock'
import { healthServer, readiness } from '@matte/core/runtime/health'
import { createLogger } from '@matte/core/runtime/logger'
import { masterKeyLoop } from '@matte/core/runtime/master-keys'
import { createEdgeMetrics, type EdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { pause, type Service } from '@matte/core/runtime/service'
import { tracing } from '@matte/core/runtime/tracing'
import { settingsCache } from '@matte/core/setting/settings-cache'
import { type Bucket, openBucket } from '@matte/core/storage/bucket'
import { storeProbe } from '@matte/core/storage/store-probe'
import { storeKeysOf } from '@matte/core/storage/store-settings'
import { signingKeysCache } from '@matte/people/identity/session/signing-keys'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type App, buildApp } from './app.ts'
import { keyUsage } from './auth/key-usage.ts'
import { accountRequests, addressKeys, signInCleaner } from './auth/sign-in-loops.ts'
import type { Config } from './config.ts'
import { windowCleaner } from './limit/rate-limiter.ts'
import { attemptPoll, fetchPoll, slotPoll, taskPoll } from './long-poll.ts'
import { requestCounter } from './request-counter.ts'
import { databaseSamples } from './samples/database-samples.ts'
import { taskStreams } from './stream/task-streams.ts'
import { webhookStreams } from './stream/webhook-streams.ts'

type Services = { readonly logger: Logger; readonly app: App; readonly services: readonly Service[] }

export async function buildServices(config: Config, logger = createLogger('api', config.logLevel)): Promise<Services> {
  const registry = createRegistry('api')
  const { database, bucket, bus } = openEdges(
    config,
    createEdgeMetrics(registry, ['database', 'nats', 'store']),
    logger,
  )
  const { db, oldestWaitMs } = database
  const schema = schemaAtStart(database, { logger, roles: ['api'] })
  const stopping = new AbortController()
  const shared = sharedLoops({ db, bucket, bus, config, logger })
  const streamDeps = { config, db, bus, registry, logger, stopping: stopping.signal }
  const people = peopleLoops(streamDeps)
  const listening = listeningLoops(streamDeps)
  const ready = readiness({
    ...schema.checks,
    http: () => (stopping.signal.aborted ? 'stopping' : app.server.listening ? undefined : 'not listening'),
  })
  const app: App = await buildApp({
    config,
    db,
    oldestWaitMs,
    bucket,
    nudge: createNudge(bus, logger),
    ...shared,
    ...people,
    ...listening,
    readiness: ready,
    stopping: stopping.signal,
    registry,
    logger,
  })
  logger.info({ results_delivery: config.resultsDelivery }, 'how results are delivered')
  return {
    logger,
    app,
    services: [
      tracing('api', config.otelEndpoint),
      database,
      // Before the migration, so probes work while it runs.
      healthServer({ host: config.host, port: config.healthPort, readiness: ready, registry }),
      schema,
      ...masterKeyLoop(config, { registry, logger }),
      { name: 'bucket', start: () => undefined, stop: () => bucket.close() },
      ...Object.values(shared),
      ...Object.values(listening),
      ...(config.accountsEnabled ? [...Object.values(people), addressKeys(db, logger)] : []),
      signInCleaner(db, logger), // also without accounts: personal data keeps its retention
      windowCleaner(db, logger),
      databaseSamples({ db, plans: config.plans, clock: systemClock, registry, logger }),
      bus,
      httpServer(app, config, stopping),
    ],
  }
}

type SharedDeps = {
  readonly db: Db
  readonly bucket: Bucket
  readonly bus: Bus
  readonly config: Config
  readonly logger: Logger
}

/** Loops that routes also use, in start order. */
function sharedLoops({ db, bucket, bus, config, logger }: SharedDeps) {
  const nudged = { db, bus, logger }
  return {
    settings: settingsCache(db, logger),
    probe: storeProbe(bucket, logger),
    usage: keyUsage(db, logger),
    taskPoll: taskPoll(nudged),
    slotPoll: slotPoll(nudged, config.plans),
    attemptPoll: attemptPoll(db, logger),
    fetchPoll: fetchPoll(db, logger),
    requests: requestCounter(db, logger),
  }
}

type StreamDeps = {
  readonly config: Config
  readonly db: Db
  readonly bus: Bus
  readonly registry: Registry
  readonly stopping: AbortSignal
  readonly logger: Logger
}

/** Same for the App API; started only with accounts. */
function peopleLoops({ config, db, bus, registry, stopping, logger }: StreamDeps) {
  const { streamsMax } = config
  return {
    signingKeys: signingKeysCache(db, config.masterKeys, logger),
    accountRequests: accountRequests(db, config, logger),
    streams: taskStreams({ db, bus, streamsMax, stopping, registry, logger }),
  }
}

/** Started with and without accounts: its callers have API keys. */
function listeningLoops({ config, ...deps }: StreamDeps) {
  const { webhookStreamsMax: streamsMax, webhookStreamKeptMinutes: keptMinutes, masterKeys, plans } = config
  return { webhookStreams: webhookStreams({ ...deps, streamsMax, keptMinutes, masterKeys, plans }) }
}

function openEdges(config: Config, metrics: EdgeMetrics, logger: Logger) {
  const { databasePoolMax: poolMax } = config
  return {
    database: openDatabase({ ...connectionOf(config), poolMax, logger, metrics, applicationName: 'matte-api' }),
    bucket: openStore(config, metrics, logger),
    bus: openBus({ ...busOf(config), logger, metrics, name: 'matte-api' }),
  }
}

const openStore = (config: Config, metrics: EdgeMetrics, logger: Logger): Bucket =>
  openBucket({
    internalEndpoint: config.s3Endpoint,
    publicEndpoint: config.s3PublicEndpoint,
    bucket: config.s3Bucket,
    region: config.s3Region,
    ...storeKeysOf(config, (error) => {
      metrics.failed('store', error)
      logger.warn({ err: error }, 'keys of the object store were not renewed')
    }),
    metrics,
  })

/** Reserved for other services after hanging requests were cut off. */
const cutOffBeforeEndMs = 3_000

const closeUnusedEveryMs = 250

/** Serves requests for `drainMs` after the signal, until load balancers stop sending them and clients leave. */
function httpServer(
  app: App,
  { host, port, maxConnections, stopWithinMs, drainMs }: Config,
  stopping: AbortController,
): Service {
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  /** Node closes idle connections only once, and counts connections that never sent a byte as busy. */
  function closeUnused(): void {
    app.server.closeIdleConnections()
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  }
  return {
    name: 'http',
    start: async () => {
      // Connections above the default of 511 in one moment would wait for a retransmission, a second or three.
      await app.listen({ host, port, backlog: maxConnections })
    },
    stopTaking: () => stopping.abort(),
    stop: async () => {
      stopping.abort()
      const cutOffMs = Math.max(0, stopWithinMs - cutOffBeforeEndMs)
      const cutOff = setTimeout(() => app.server.closeAllConnections(), cutOffMs)
      if (app.server.listening) await pause(Math.min(drainMs, cutOffMs))
      const closing = app.close()
      closeUnused()
      const again = setInterval(closeUnused, closeUnusedEveryMs)
      await closing
      clearInterval(again)
      clearTimeout(cutOff)
    },
  }
}
