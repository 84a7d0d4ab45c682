// The HTTP server: hooks that apply to every request, in order, then the routes.

import type { Nudge } from '@matte/core/bus/nudge'
import type { Db } from '@matte/core/db/database'
import { systemClock } from '@matte/core/runtime/clock'
import type { Readiness } from '@matte/core/runtime/health'
import type { Loop } from '@matte/core/runtime/loop'
import { serveOneAtATime } from '@matte/core/runtime/one-at-a-time'
import type { SettingsCache } from '@matte/core/setting/settings-cache'
import type { Bucket } from '@matte/core/storage/bucket'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import type { SigningKeysCache } from '@matte/people/identity/session/signing-keys'
import { createPaymentMetrics } from '@matte/people/payment/payment-deps'
import { type FastifyInstance, fastify, LogController } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { memberCache, tokenCache } from './auth/access-token.ts'
import { callerCache } from './auth/api-key.ts'
import { checkAccess, requireDeclaredAccess } from './auth/check-access.ts'
import type { KeyUsage } from './auth/key-usage.ts'
import { linkHolders } from './auth/link-holders.ts'
import { networkCallers } from './auth/network-caller.ts'
import { operatorsOf } from './auth/operator.ts'
import { requireProof } from './auth/require-proof.ts'
import { createSignIn } from './auth/sign-in-metrics.ts'
import type { Config } from './config.ts'
import { assetRoutes } from './console/asset-routes.ts'
import { followBuilds } from './console/console-build.ts'
import { consolePage } from './console/console-page.ts'
import { doorRoutes } from './doors/door-routes.ts'
import { addEnvelope, requestId } from './envelope.ts'
import { createErrorHandler } from './errors/error-handler.ts'
import { gateway } from './gateway.ts'
import { clientErrorHandler } from './http/client-error.ts'
import { allowOrigins } from './http/cors.ts'
import { closeConnectionsWhileStopping, readDeclaredBodiesOnly, traceRequests } from './http/hooks.ts'
import { addIdempotency } from './http/idempotency.ts'
import { type ApiMetrics, createMetrics, observeRequests } from './http/metrics.ts'
import { addNotFoundHandler } from './http/not-found.ts'
import { documentRoutes, serveDocument } from './http/openapi.ts'
import { secureTransport, transportSecurity } from './http/transport-security.ts'
import { handleUnknownFields } from './http/unknown-fields.ts'
import { compileValidator } from './http/validation.ts'
import { byteBudget } from './image-request/byte-budget.ts'
import { refuseOverload } from './limit/capacity.ts'
import { limitConnections } from './limit/connections.ts'
import { credentialGuard } from './limit/credential-guard.ts'
import { warnOfUntrustedForwarding } from './limit/forwarded-for.ts'
import { IncomingBody } from './limit/incoming-body.ts'
import { rateLimiter } from './limit/rate-limiter.ts'
import { bodyLimitBytes, boundBodies } from './limit/request-body.ts'
import type { AttemptPoll, FetchPoll, SlotPoll, TaskPoll } from './long-poll.ts'
import { modelCache } from './model-cache.ts'
import { countRequests, type RequestCounter } from './request-counter.ts'
import { appRoutes } from './routes/app/app-routes.ts'
import { cutOutRoutes } from './routes/cut-outs.ts'
import { developerSurface } from './routes/developer-surface.ts'
import { fileRoutes } from './routes/files.ts'
import { healthRoutes } from './routes/health.ts'
import { jwksRoutes } from './routes/jwks.ts'
import { legacyTaskRoutes } from './routes/legacy-tasks.ts'
import { operatorRoutes } from './routes/operator/operator-routes.ts'
import { createInspectionGate } from './routes/shared/batches.ts'
import { sharedRoutes } from './routes/shared/shared-routes.ts'
import { webhookStreamRoutes } from './routes/webhook-stream.ts'
import { gatewayLinks, presignedLinks } from './schemas/result-links.ts'
import { uploadLinks } from './schemas/upload-links.ts'
import { serializersOnDemand } from './serialization.ts'
import { docsRoutes } from './site/docs-routes.ts'
import type { TaskStreams } from './stream/task-streams.ts'
import type { WebhookStreams } from './stream/webhook-streams.ts'

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
  readonly accountRequests: Pick<Loop, 'wake'>
  readonly taskPoll: Pick<TaskPoll, 'wait' | 'end'>
  readonly attemptPoll: Pick<AttemptPoll, 'wait' | 'end'>
  readonly fetchPoll: Pick<FetchPoll, 'wait' | 'end'>
  readonly slotPoll: Pick<SlotPoll, 'wait' | 'end'>
  readonly requests: Pick<RequestCounter, 'note'>
  readonly streams: Pick<TaskStreams, 'open'>
  readonly webhookStreams: Pick<WebhookStreams, 'open'>
  readonly oldestWaitMs: () => number
  readonly readiness: Readiness
  readonly stopping: AbortSignal
  readonly registry: Registry
  readonly logger: Logger
}

/** Ready for `listen` or `inject`. Rejects when a route is declared wrongly. */
export async function buildApp({ config, db, bucket, readiness, registry, ...deps }: AppDeps): Promise<App> {
  const metrics = createMetrics(registry, config.plans)
  const app: App = newApp(config, deps.logger, metrics)

  if (config.otelEndpoint !== undefined) traceRequests(app)
  observeRequests(app, metrics)
  secureTransport(app, transportSecurity(config))
  addEnvelope(app)
  boundBodies(app)
  allowOrigins(app, config.corsAllowedOrigins)
  requireDeclaredAccess(app)
  const consoleBuild = followBuilds(config.consoleDir)
  addNotFoundHandler(app, config.consoleEnabled ? consolePage(config, consoleBuild) : undefined)
  readDeclaredBodiesOnly(app)
  const { requestsInWorkMax, maxConnections, failedCredentialsPerMinute, plans } = config
  const capacity = refuseOverload(app, { requestsInWorkMax, maxConnections, oldestWaitMs: deps.oldestWaitMs, registry })
  if (config.trustedProxyHops === 0) warnOfUntrustedForwarding(app, deps.logger)
  serveOneAtATime(app.server)
  limitConnections(app.server, { maxConnections, trustedProxyHops: config.trustedProxyHops, registry })
  const limiter = rateLimiter(db, systemClock)
  const guard = credentialGuard(limiter, failedCredentialsPerMinute)
  const { usage, signingKeys } = deps
  const { openRequestsPerMinute, publicUrl: issuer } = config
  const byKey = { callers: callerCache(db), usage }
  const byToken = { members: memberCache(db), signingKeys, tokens: tokenCache(), issuer }
  const byNetwork = networkCallersOf(db, config)
  const operators = operatorsOf(db, config.operatorToken)
  const auth = { guard, limiter, plans, capacity, openRequestsPerMinute, byNetwork, operators }
  checkAccess(app, { ...auth, ...byKey, ...byToken })
  requireProof(app, db)
  countRequests(app, deps.requests)
  handleUnknownFields(app)
  addIdempotency(app, db)
  closeConnectionsWhileStopping(app, deps.stopping)
  app.addHook('preClose', async () => {
    deps.taskPoll.end()
    deps.attemptPoll.end()
    deps.fetchPoll.end()
    deps.slotPoll.end()
  })
  app.setErrorHandler(createErrorHandler(metrics.countError))
  await documentRoutes(app, config)

  await app.register(healthRoutes, { readiness })
  serveDocument(app)
  if (config.consoleEnabled) await app.register(assetRoutes, { build: consoleBuild })
  await app.register(docsRoutes, { docsDir: config.docsDir })
  const models = modelCache(db)
  const { webhookDeniedNetworks: deniedNetworks, webhookEgressAddresses: egressAddresses } = config
  const { tasksMaxWaitSeconds: maxWaitSeconds, uploadsSignContentLength: signLength, masterKeys, s3Endpoint } = config
  const links =
    config.resultsDelivery === 'gateway' ? gatewayLinks(config.publicUrl, masterKeys) : () => presignedLinks(bucket)
  const inspectionGate = createInspectionGate()
  const uploadLinkOf = uploadLinks(config.publicUrl, masterKeys)
  const uploads = { signLength, uploadLinkOf, fetchUrls: config.uploadsFetchUrls }
  const common = { ...deps, ...uploads, db, bucket, links, models, deniedNetworks, metrics, maxWaitSeconds, limiter }
  const routeDeps = { ...common, masterKeys, inspectionGate, egressAddresses }
  await app.register(sharedRoutes, { ...routeDeps, surface: developerSurface })
  await app.register(webhookStreamRoutes, routeDeps)
  if (config.legacyEnabled) {
    const { publicUrl, legacySunset: sunset } = config
    await app.register(legacyTaskRoutes, { publicUrl, sunset, ...routeDeps })
  }
  if (config.accountsEnabled) {
    await app.register(jwksRoutes, { signingKeys })
    const signIn = createSignIn(config, registry)
    const paymentMetrics = createPaymentMetrics(registry)
    await app.register(appRoutes, { config, paymentMetrics, ...signIn, ...routeDeps })
  }
  await app.register(operatorRoutes, { config, operators, ...routeDeps })
  const imageBytesMax = Math.max(...Object.values(plans).map((plan) => plan.maxFileSizeBytes))
  const imageDeps = { ...routeDeps, budget: byteBudget(), imageBytesMax }
  await app.register(cutOutRoutes, imageDeps)
  await app.register(doorRoutes, { config, ...imageDeps })
  await app.register(fileRoutes, { bucket, masterKeys, holders: linkHolders(db) })
  await app.register(gateway, { bucket, endpoint: s3Endpoint, masterKeys, largestBytes: imageBytesMax })
  await app.ready()
  return app
}

/** Undefined unless the rembg door is open. */
function networkCallersOf(db: Db, config: Config) {
  const { doorsRembg, doorsRembgNetworks: networks, doorsRembgWorkspace: workspaceId } = config
  if (!doorsRembg || workspaceId === undefined) return undefined
  const { trustedProxyHops, corsAllowedOrigins: origins } = config
  const hosts = [new URL(config.publicUrl).hostname, ...config.doorsRembgHosts]
  return networkCallers(db, { networks, workspaceId, trustedProxyHops, origins, hosts })
}

/** In milliseconds: a whole request (21 MiB at 73 kB/s), and a socket without traffic. */
const requestTimeoutMs = 300_000
const silenceTimeoutMs = 60_000

function newApp(config: Config, logger: Logger, { countError }: ApiMetrics): App {
  const { trustedProxyHops } = config
  const headers = transportSecurity(config)
  const onError = createErrorHandler(countError)
  const app = fastify({
    loggerInstance: logger,
    // http/metrics.ts writes one line per request.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: requestId,
    trustProxy: (_address, hop) => hop < trustedProxyHops,
    http: { IncomingMessage: IncomingBody },
    bodyLimit: bodyLimitBytes,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: silenceTimeoutMs,
    return503OnClosing: false, // requests in flight still get their response
    // Routes validate ids; the default of 100 would report a long id as an unknown path.
    routerOptions: { maxParamLength: 16_384 },
    clientErrorHandler: clientErrorHandler(countError, headers),
    // No hook bounds the body of such a request, so its connection closes.
    frameworkErrors: (error, request, reply) =>
      onError(error, request, reply.headers({ ...headers, connection: 'close' })),
    schemaController: { compilersFactory: { buildSerializer: serializersOnDemand } },
  })
  app.setValidatorCompiler(compileValidator)
  return app as unknown as App // differs only in the type of its logger
}
