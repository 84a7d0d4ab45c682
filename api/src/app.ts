// The HTTP surface, as a table of contents: first what holds for every request, in order, then the routes.
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import type { SigningKeysCache } from '@matte/core/identity/signing-keys-cache'
import { createPaymentMetrics } from '@matte/core/payment/payment-metrics'
import { systemClock } from '@matte/core/runtime/clock'
import type { Readiness } from '@matte/core/runtime/health'
import type { Loop } from '@matte/core/runtime/loop'
import type { SettingsCache } from '@matte/core/setting/settings-cache'
import type { Bucket } from '@matte/core/storage/bucket'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import { type FastifyInstance, fastify, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { tokenCache } from './auth/bearer.ts'
import { callerCache } from './auth/caller-cache.ts'
import { checkAccess } from './auth/check-access.ts'
import { requireDeclaredAccess } from './auth/declared-access.ts'
import type { KeyUsage } from './auth/key-usage.ts'
import { memberCache } from './auth/member-cache.ts'
import { createSignIn } from './auth/sign-in.ts'
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
import { developerSurface } from './routes/both/surface.ts'
import { docsRoutes } from './routes/docs.ts'
import { fileRoutes } from './routes/files.ts'
import { healthRoutes } from './routes/health.ts'
import { jwksRoutes } from './routes/jwks.ts'
import { legacyTaskRoutes } from './routes/legacy/tasks.ts'
import { inspectionTurns } from './routes/task/batch-tasks.ts'
import { developerFront } from './routes/task/front.ts'
import { taskOperations } from './routes/task/task-operations.ts'
import { serializersOnDemand } from './serialization.ts'
import type { TaskStreams } from './stream/task-streams.ts'
import { gatewayLinks, presignedLinks } from './views/result-links.ts'
import type { AttemptWaits } from './waits/attempt-waits.ts'
import type { TaskWaits } from './waits/task-waits.ts'

export type App = FastifyInstance

type AppDeps = {
  readonly config: Config
  readonly db: Db
  readonly bucket: Bucket
  readonly nudge: Nudge
  readonly settings: Pick<SettingsCache, 'current'>
  readonly probe: Pick<StoreProbe, 'isDown'>
  readonly usage: Pick<KeyUsage, 'note'>
  readonly signingKeys: Pick<SigningKeysCache, 'current'>
  /** Does what people ask for without signing in. */
  readonly accountRequests: Pick<Loop, 'wake'>
  readonly waits: Pick<TaskWaits, 'untilEnded' | 'end'>
  readonly attempts: Pick<AttemptWaits, 'untilEnded' | 'end'>
  readonly requests: Pick<RequestCounter, 'note'>
  readonly streams: Pick<TaskStreams, 'open'>
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
  app.addHook('preClose', async () => {
    deps.waits.end()
    deps.attempts.end()
  })
  app.setErrorHandler(answerErrors(metrics.countError))
  await documentRoutes(app, config.publicUrl)

  await app.register(healthRoutes, { readiness })
  serveDocument(app)
  await app.register(docsRoutes, { publicUrl: config.publicUrl })
  const prefix = '/api/v1/open/developer'
  const models = modelCache(db)
  const deniedNetworks = config.webhookDeniedNetworks
  const { tasksMaxWaitSeconds: maxWaitSeconds, uploadsSignContentLength: signLength, masterKeys } = config
  const links =
    config.resultsDelivery === 'gateway' ? gatewayLinks(config.publicUrl, masterKeys) : presignedLinks(bucket)
  const common = { ...deps, db, bucket, links, models, deniedNetworks, metrics, maxWaitSeconds, signLength, limiter }
  const taskDeps = { ...common, turns: inspectionTurns() }
  await app.register(taskOperations, { prefix, ...taskDeps, front: developerFront })
  if (config.legacyEnabled) {
    const successor = `${config.publicUrl}${prefix}`
    await app.register(legacyTaskRoutes, { prefix: '/v1', successor, sunset: config.legacySunset, ...taskDeps })
  }
  await app.register(developerSurface, { prefix, masterKeys, ...common })
  await app.register(jwksRoutes, { prefix: '/api/v1', signingKeys })
  const signIn = createSignIn(config, registry)
  const paymentMetrics = createPaymentMetrics(registry)
  const ofApp = { config, masterKeys, paymentMetrics, ...signIn, ...taskDeps }
  await app.register(appRoutes, { prefix: '/api/v1/app', ...ofApp })
  await app.register(fileRoutes, { bucket, masterKeys })
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
    schemaController: { compilersFactory: { buildSerializer: serializersOnDemand } },
  })
  app.server.maxConnections = maxConnections
  app.setValidatorCompiler(compileValidator)
  return app as unknown as App // the type of its logger aside, which is pino's own here
}
