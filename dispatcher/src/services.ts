// Services of this process in start order; they stop in reverse.

import { type Bus, openBus } from '@matte/core/bus/bus'
import { consume } from '@matte/core/bus/consume'
import { durables } from '@matte/core/bus/streams'
import { busOf } from '@matte/core/bus-settings'
import { connectionOf } from '@matte/core/database-settings'
import { type Db, openDatabase } from '@matte/core/db/database'
import { schemaAtStart } from '@matte/core/db/schema'
import { systemClock } from '@matte/core/runtime/clock'
import { describeConfig } from '@matte/core/runtime/env'
import { healthServer, readiness } from '@matte/core/runtime/health'
import { createLogger } from '@matte/core/runtime/logger'
import { masterKeyLoop } from '@matte/core/runtime/master-keys'
import { createEdgeMetrics } from '@matte/core/runtime/metrics/edge-metrics'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import type { Service } from '@matte/core/runtime/service'
import { tracing } from '@matte/core/runtime/tracing'
import { type SettingsCache, settingsCache } from '@matte/core/setting/settings-cache'
import { noRecipients } from '@matte/core/webhook/endpoint/disable-failing-endpoints'
import { mailEndpointNotices } from '@matte/people/notification/endpoint-notices'
import { createPaymentMetrics } from '@matte/people/payment/payment-deps'
import { openPayments } from '@matte/people/payment/settings'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Config, schema } from './config.ts'
import { deliver } from './deliver.ts'
import { createDeliveryMetrics } from './delivery-metrics.ts'
import { creditLoops } from './due/credit-loops.ts'
import { createEndpointMetrics, failingEndpointsLoop } from './due/failing-endpoints.ts'
import { keyLoop } from './due/key-loop.ts'
import { mailLoop } from './due/mails.ts'
import { createNotificationMetrics, notificationLoop, oldEventsLoop } from './due/notifications.ts'
import { duePayments } from './due/payments.ts'
import { referralLoop } from './due/referral-loop.ts'
import { type DueLoop, dueLoop } from './due-loop.ts'
import { createDownloader } from './egress/download.ts'
import { createHttpClient, type HttpClient } from './egress/http-client.ts'
import { fetchImage } from './fetch/fetch-image.ts'
import { fetchLoop } from './fetch/fetch-loop.ts'
import { createFetchMetrics } from './fetch/fetch-metrics.ts'
import { storeUpload } from './fetch/store-upload.ts'
import { createMailMetrics } from './mail/mail-metrics.ts'
import { logTransport, type MailTransport } from './mail/mail-transport.ts'
import { sendMail } from './mail/send-mail.ts'

type Services = { readonly logger: Logger; readonly services: readonly Service[] }

export async function buildServices(config: Config): Promise<Services> {
  const logger = createLogger('dispatcher', config.logLevel)
  logger.info({ config: describeConfig(schema, config) }, 'configuration read')
  const registry = createRegistry('dispatcher')
  const { databasePoolMax: poolMax, natsStreamPrefix: prefix } = config
  const metrics = createEdgeMetrics(registry, ['database', 'nats'])
  const database = openDatabase({
    ...connectionOf(config),
    poolMax,
    logger,
    metrics,
    applicationName: 'matte-dispatcher',
  })
  const { db } = database
  const settings = settingsCache(db, logger)
  const bus = openBus({ ...busOf(config), logger, metrics, name: 'matte-dispatcher' })
  const { deniedNetworks, egressProxy: proxy } = config
  const http = createHttpClient({ deniedNetworks, proxy, timeoutMs: config.timeoutSeconds * 1_000 })
  const due = buildDueLoop(config, { db, http, settings, registry, logger })
  const dueDeps = { db, wake: due.wake, logger }
  const lockRecipients = config.accountsEnabled ? mailEndpointNotices(config.masterKeys) : noRecipients
  const databaseSchema = schemaAtStart(database, { logger, roles: ['dispatcher'] })
  const ready = readiness(databaseSchema.checks)
  const durable = durables.deliveryNudges(prefix)
  return {
    logger,
    services: [
      tracing('dispatcher', config.otlpEndpoint),
      database,
      // Starts before the schema check, so the process is alive while migrations run.
      healthServer({ host: config.host, port: config.healthPort, readiness: ready, registry }),
      databaseSchema,
      ...masterKeyLoop(config, { registry, logger }),
      settings,
      { name: 'http-client', start: () => undefined, stop: () => http.close() },
      bus,
      due,
      ...(config.accountsEnabled ? await peopleLoops(config, { ...dueDeps, registry }) : [oldEventsLoop(dueDeps)]),
      ...creditLoops({ ...dueDeps, plans: config.plans }),
      failingEndpointsLoop({ db, lockRecipients, metrics: createEndpointMetrics(registry), logger }),
      consume({ bus, durable, ready: due.untilFree, wake: due.wake, logger }),
      ...(config.uploadsFetchUrls ? fetchServices(config, { db, bus, registry, logger }) : []),
    ],
  }
}

type FetchDeps = Pick<DueLoopDeps, 'db' | 'registry' | 'logger'> & { readonly bus: Bus }

/** Total time of one image, from DNS to the last byte. */
const fetchTimeoutMs = 10_000

/** Images by URL; started only with the setting. */
function fetchServices(config: Config, { db, bus, registry, logger }: FetchDeps): Service[] {
  const { deniedNetworks, egressProxy: proxy, natsStreamPrefix: prefix } = config
  const downloader = createDownloader({ deniedNetworks, proxy, timeoutMs: fetchTimeoutMs })
  const store = storeUpload()
  const metrics = createFetchMetrics(registry)
  const deps = { db, downloader, store, metrics, logger }
  const fetches = fetchLoop({
    db,
    fetchImage: (fetch, signal) => fetchImage(deps, fetch, signal),
    timeoutMs: fetchTimeoutMs,
    // The caller gives up after 25 s; a fetch that is cut off is taken over.
    finishWithinMs: Math.floor(config.stopWithinMs * 0.5),
    metrics,
    logger,
  })
  const stop = async (): Promise<void> => void (await Promise.all([downloader.close(), store.close()]))
  return [
    { name: 'fetch-clients', start: () => undefined, stop },
    fetches,
    consume({ bus, durable: durables.fetchNudges(prefix), ready: fetches.untilFree, wake: fetches.wake, logger }),
  ]
}

type DueLoopDeps = {
  readonly db: Db
  readonly http: HttpClient
  readonly settings: SettingsCache
  readonly registry: Registry
  readonly logger: Logger
}

function buildDueLoop(config: Config, { db, http, settings, registry, logger }: DueLoopDeps): DueLoop {
  const clock = systemClock
  const metrics = createDeliveryMetrics(registry)
  const deps = {
    db,
    http,
    masterKeys: config.masterKeys,
    allowedTargets: () => settings.current().allowedTargets,
    retry: { maxRetries: config.maxRetries, retryUnitMs: config.retryUnitSeconds * 1_000 },
    clock,
    metrics,
    logger,
  }
  return dueLoop({
    db,
    deliver: (assignment, signal) => deliver(deps, assignment, signal),
    slots: config.concurrency,
    timeoutMs: config.timeoutSeconds * 1_000,
    // The rest of the time is for giving deliveries back and closing connections.
    finishWithinMs: Math.floor(config.stopWithinMs * 0.7),
    clock,
    metrics,
    logger,
  })
}

type PeopleDeps = Pick<DueLoopDeps, 'db' | 'registry' | 'logger'> & {
  /** Wakes the loop that sends webhooks. */
  readonly wake: () => void
}

/** Payments, referrals, notifications and mails; started only with accounts. */
async function peopleLoops(config: Config, { registry, ...dueDeps }: PeopleDeps): Promise<Service[]> {
  const { db, wake, logger } = dueDeps
  // The dispatcher creates no checkout, so the public URL is not needed.
  const paymentMetrics = createPaymentMetrics(registry)
  const payments = await openPayments(config, { ...config, db, publicUrl: '', metrics: paymentMetrics })
  const { referralRewardCredits: rewardCredits, referralAutoApprove: autoApprove } = config
  return [
    ...(await messageLoops(config, { db, registry, logger })),
    ...duePayments({ payments, wakeDeliveries: wake, logger }),
    referralLoop({ ...dueDeps, rewardCredits, autoApprove }),
    keyLoop({ db, masterKeys: config.masterKeys, logger }),
  ]
}

/** Notifications and mails. Webhooks do not wait for them. */
async function messageLoops(config: Config, { db, registry, logger }: Omit<PeopleDeps, 'wake'>) {
  const { masterKeys, appUrl, supportUrl } = config
  const transport = await mailTransport(config, logger)
  if (transport === undefined) logger.warn('SMTP_URL is not set: no mail is sent')
  const mailMetrics = createMailMetrics(registry)
  const common = { db, masterKeys, appUrl, supportUrl, clock: systemClock, metrics: mailMetrics, logger }
  const mails = mailLoop({
    ...common,
    send:
      transport && ((assignment, signal, reached) => sendMail({ ...common, transport, reached }, assignment, signal)),
    slots: config.mailConcurrency,
    timeoutMs: config.mailTimeoutSeconds * 1_000,
    perMinute: config.mailsPerMinute,
    // A mail takes about a second. A hanging one is left to its claim: webhooks need the rest of the time.
    finishWithinMs: Math.floor(config.stopWithinMs * 0.2),
  })
  const metrics = createNotificationMetrics(registry)
  const mailEnabled = transport !== undefined
  return [mails, notificationLoop({ db, masterKeys, mailEnabled, metrics, logger })]
}

/** Undefined in production without a mail server: mails contain secrets that must not be logged. */
async function mailTransport(config: Config, logger: Logger): Promise<MailTransport | undefined> {
  const { mailServer, mailConnectSeconds, mailTimeoutSeconds } = config
  if (mailServer !== undefined) {
    const { smtpTransport } = await import('./mail/smtp-transport.ts')
    return smtpTransport(mailServer, { connectMs: mailConnectSeconds * 1_000, totalMs: mailTimeoutSeconds * 1_000 })
  }
  return config.environment === 'development' ? logTransport(logger) : undefined
}
