// The HTTP surface, as a table of contents: first what holds for every request, in order, then the routes.
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import type { SigningKeysCache } from '@matte/core/identity/signing-keys-cache'
import { systemClock } from '@matte/core/runtime/clock'
import type { Readiness } from '@matte/core/runtime/health'
import type { SettingsCache } from '@matte/core/setting/settings-cache'
import type { Bucket } from '@matte/core/storage/bucket'
import { asksProbeFirst, type StoreProbe } from '@matte/core/storage/store-probe'
import { type FastifyInstance, fastify, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { tokenCache } from './auth/bearer.ts'
import { callerCache } from './auth/caller-cache.ts'
import { checkAccess } from './auth/check-access.ts'
import { requireDeclaredAccess } from './auth/declared-access.ts'
import type { KeyUsage } from './auth/key-usage.ts'
import { memberCache } from './auth/member-cache.ts'
import type { Config } from './config.ts'
import { addEnvelope, requestId } from './envelope.ts'
import { answerErrors } from './errors/answer-error.ts'
import { gateway } from './gateway.ts'
import { auditChanges } from './http/audit.ts'
import { bodyLimitBytes, readDeclaredBodiesOnly } from './http/bodies.ts'
import { answerClientErrors } from './http/client-error.ts'
import { allowOrigins } from './http/cors.ts'
import { honourIdempotencyKeys } from './http/idempotency.ts'
import { endConnectionsWhileStopping } from './http/last-answers.ts'
import { type ApiMetrics, createMetrics, observeRequests } from './http/metrics.ts'
import { answerNotFound } from './http/not-found.ts'
import { documentRoutes, serveDocument } from './http/openapi.ts'
import { traceRequests } from './http/trace-requests.ts'
import { compileValidator, ignoreUnknownFields } from './http/validation.ts'
import { refuseOverload } from './limit/capacity.ts'
import { credentialGuard } from './limit/credential-guard.ts'
import { warnOfUnreadForwarding } from './limit/forwarded-for.ts'
import { rateLimiter } from './limit/rate-limiter.ts'
import { modelCache } from './model-cache.ts'
import { countRequests, type RequestCounter } from './request-counter.ts'
import { appRoutes } from './routes/app/app-routes.ts'
import { docsRoutes } from './routes/docs.ts'
import { fileRoutes } from './routes/files.ts'
import { healthRoutes } from './routes/health.ts'
import { legacyTaskRoutes } from './routes/legacy/tasks.ts'
import { apiKeyRoutes } from './routes/open/developer/api-keys.ts'
import { batchRoutes } from './routes/open/developer/batch-tasks.ts'
import { retryRoutes } from './routes/open/developer/retry-task.ts'
import { signingSecretRoutes } from './routes/open/developer/signing-secret.ts'
import { taskRoutes } from './routes/open/developer/tasks.ts'
import { uploadRoutes } from './routes/open/developer/uploads.ts'
import { usageRoutes } from './routes/open/developer/usage.ts'
import { webhookRoutes } from './routes/open/developer/webhooks.ts'
import type { TaskWaits } from './task-waits.ts'
import { gatewayLinks, presignedLinks } from './views/result-links.ts'

export type App = FastifyInstance

type AppDeps = {
  readonly config: Config
  readonly db: Db
  readonly bucket: Bucket
  readonly nudge: Pick<Nudge, 'task' | 'delivery'>
  readonly settings: Pick<SettingsCache, 'current'>
  readonly probe: Pick<StoreProbe, 'isDown'>
  readonly usage: Pick<KeyUsage, 'note'>
  readonly signingKeys: Pick<SigningKeysCache, 'current'>
  readonly waits: Pick<TaskWaits, 'untilEnded' | 'end'>
  readonly requests: Pick<RequestCounter, 'note'>
  /** Milliseconds that the first in the queue for a database connection has waited. */
  readonly oldestWaitMs: () => number
  readonly readiness: Readiness
  /** Aborted when the process begins to stop. */
  readonly stopping: AbortSignal
  readonly registry: Registry
  readonly logger: Logger
}

/** The application, ready for `listen` or `inject`. Rejects when a route is declared wrongly. */
export async function buildApp({ config, db, bucket, readiness, registry, ...deps }: AppDeps): Promise<App> {
  const metrics = createMetrics(registry, config.plans)
  const app: App = newApp(config, deps.logger, metrics)

  if (config.otelEndpoint !== undefined) traceRequests(app)
  observeRequests(app, metrics)
  addEnvelope(app)
  allowOrigins(app, config.corsAllowedOrigins)
  requireDeclaredAccess(app)
  answerNotFound(app)
  readDeclaredBodiesOnly(app)
  const { requestsInWorkMax, failedCredentialsPerMinute, plans } = config
  const capacity = refuseOverload(app, { requestsInWorkMax, oldestWaitMs: deps.oldestWaitMs, registry })
  if (config.trustedProxyHops === 0) warnOfUnreadForwarding(app, deps.logger)
  const limiter = rateLimiter(db, systemClock)
  const guard = credentialGuard(limiter, failedCredentialsPerMinute)
  const { usage, signingKeys } = deps
  const { openRequestsPerMinute, publicUrl: issuer } = config
  const byKey = { callers: callerCache(db), usage }
  const byToken = { members: memberCache(db), signingKeys, tokens: tokenCache(), issuer }
  checkAccess(app, { guard, limiter, plans, capacity, openRequestsPerMinute, ...byKey, ...byToken })
  auditChanges(app, db)
  countRequests(app, deps.requests)
  ignoreUnknownFields(app)
  honourIdempotencyKeys(app, db)
  endConnectionsWhileStopping(app, deps.stopping)
  app.addHook('preClose', async () => deps.waits.end())
  app.setErrorHandler(answerErrors(metrics.countError))
  await documentRoutes(app, config.publicUrl)

  await app.register(healthRoutes, { readiness })
  serveDocument(app)
  await app.register(docsRoutes, { publicUrl: config.publicUrl })
  const prefix = '/api/v1/open/developer'
  const models = modelCache(db)
  const deniedNetworks = config.webhookDeniedNetworks
  await app.register(uploadRoutes, { prefix, db, bucket, signLength: config.uploadsSignContentLength, ...deps })
  const links =
    config.resultsDelivery === 'gateway' ? gatewayLinks(config.publicUrl, config.masterKeys) : presignedLinks(bucket)
  const maxWaitSeconds = config.tasksMaxWaitSeconds
  const inspected = asksProbeFirst(bucket, deps.probe)
  const taskDeps = { db, bucket: inspected, links, models, deniedNetworks, metrics, maxWaitSeconds, ...deps }
  await app.register(taskRoutes, { prefix, ...taskDeps })
  await app.register(retryRoutes, { prefix, ...taskDeps })
  await app.register(batchRoutes, { prefix, ...taskDeps })
  if (config.legacyEnabled) {
    const successor = `${config.publicUrl}${prefix}`
    await app.register(legacyTaskRoutes, { prefix: '/v1', successor, sunset: config.legacySunset, ...taskDeps })
  }
  const { masterKeys } = config
  await app.register(webhookRoutes, { prefix, db, masterKeys, deniedNetworks, ...deps })
  await app.register(apiKeyRoutes, { prefix, db })
  await app.register(signingSecretRoutes, { prefix, db, masterKeys })
  await app.register(usageRoutes, { prefix, db })
  await app.register(appRoutes, { prefix: '/api/v1/app', config, ...taskDeps, ...deps })
  await app.register(fileRoutes, { bucket, masterKeys: config.masterKeys })
  await app.register(gateway, { bucket: config.s3Bucket, endpoint: config.s3Endpoint })
  await app.ready()
  return app
}

/** Time-outs in milliseconds: a whole request (21 MiB at 73 kB/s), and a socket on which nothing moves. */
const requestTimeoutMs = 300_000
const silenceTimeoutMs = 60_000

function newApp({ trustedProxyHops, maxConnections }: Config, logger: Logger, { countError }: ApiMetrics): App {
  const app = fastify({
    loggerInstance: logger,
    // The one line a request is written by metrics.ts.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: requestId,
    trustProxy: (_address, hop) => hop < trustedProxyHops,
    bodyLimit: bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: silenceTimeoutMs,
    return503OnClosing: false, // a request that came in time is answered as ever
    // Ids are judged by the routes; the default of 100 would answer a long one as an unknown path.
    routerOptions: { maxParamLength: 16_384 },
    clientErrorHandler: answerClientErrors(countError),
    frameworkErrors: answerErrors(countError),
  })
  app.server.maxConnections = maxConnections
  app.setValidatorCompiler(compileValidator)
  return app as unknown as App // the type of its logger aside, which is pino's own here
}
