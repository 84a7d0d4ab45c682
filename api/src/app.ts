// The HTTP surface, as a table of contents: first what holds for every request, in order, then the routes.
import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import type { Check } from '@matte/core/runtime/health'
import type { SettingsCache } from '@matte/core/setting/settings-cache'
import type { Bucket } from '@matte/core/storage/bucket'
import { type FastifyInstance, fastify, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { callerCache } from './auth/caller-cache.ts'
import type { KeyUsage } from './auth/key-usage.ts'
import { checkAccess, requireDeclaredAccess } from './auth/scope.ts'
import type { Config } from './config.ts'
import { addEnvelope, requestId } from './envelope.ts'
import { answerError } from './errors.ts'
import { gateway } from './gateway.ts'
import { bodyLimitBytes, readDeclaredBodiesOnly } from './http/bodies.ts'
import { answerClientError } from './http/client-error.ts'
import { allowOrigins } from './http/cors.ts'
import { createMetrics, observeRequests } from './http/metrics.ts'
import { answerNotFound } from './http/not-found.ts'
import { documentRoutes, serveDocument } from './http/openapi.ts'
import { traceRequests } from './http/trace-requests.ts'
import { compileValidator, ignoreUnknownFields } from './http/validation.ts'
import { modelCache } from './model-cache.ts'
import { healthRoutes } from './routes/health.ts'
import { signingSecretRoutes } from './routes/open/developer/signing-secret.ts'
import { taskRoutes } from './routes/open/developer/tasks.ts'
import { uploadRoutes } from './routes/open/developer/uploads.ts'
import type { StoreProbe } from './store-probe.ts'

export type App = FastifyInstance

export type AppDeps = {
  readonly config: Config
  readonly db: Db
  readonly bucket: Bucket
  readonly nudge: Pick<Nudge, 'task'>
  readonly settings: Pick<SettingsCache, 'current'>
  readonly probe: Pick<StoreProbe, 'isDown'>
  readonly usage: Pick<KeyUsage, 'note'>
  readonly checks: Readonly<Record<string, Check>>
  readonly registry: Registry
  readonly logger: Logger
}

/** The application, ready for `listen` or `inject`. Rejects when a route is declared wrongly. */
export async function buildApp({ config, db, bucket, checks, registry, ...deps }: AppDeps): Promise<App> {
  const app: App = newApp(config, deps.logger)

  if (config.otelEndpoint !== undefined) traceRequests(app)
  observeRequests(app, registry)
  addEnvelope(app)
  allowOrigins(app, config.corsAllowedOrigins)
  requireDeclaredAccess(app)
  answerNotFound(app)
  readDeclaredBodiesOnly(app)
  checkAccess(app, { callers: callerCache(db), plans: config.plans, usage: deps.usage })
  ignoreUnknownFields(app)
  app.setErrorHandler(answerError)
  await documentRoutes(app, config.publicUrl)

  await app.register(healthRoutes, { checks })
  serveDocument(app)
  const prefix = '/api/v1/open/developer'
  const models = modelCache(db)
  const deniedNetworks = config.webhookDeniedNetworks
  const metrics = createMetrics(registry)
  await app.register(uploadRoutes, { prefix, db, bucket, ...deps })
  await app.register(taskRoutes, { prefix, db, bucket, models, deniedNetworks, metrics, ...deps })
  await app.register(signingSecretRoutes, { prefix, db, masterKeys: config.masterKeys })
  await app.register(gateway, { bucket: config.s3Bucket, endpoint: config.s3Endpoint })
  await app.ready()
  return app
}

/** Time-outs in milliseconds: a whole request (21 MiB at 73 kB/s), and a socket on which nothing moves. */
const requestTimeoutMs = 300_000
const silenceTimeoutMs = 60_000

function newApp({ trustedProxyHops, maxConnections }: Config, logger: Logger): App {
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
    clientErrorHandler: answerClientError,
    frameworkErrors: answerError,
  })
  app.server.maxConnections = maxConnections
  app.setValidatorCompiler(compileValidator)
  return app as unknown as App // the type of its logger aside, which is pino's own here
}
