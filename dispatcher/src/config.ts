import { busSettings } from '@matte/core/bus-settings'
import { databaseSettings } from '@matte/core/database-settings'
import { checkTls, tlsSettings } from '@matte/core/required-tls'
import { authoritySettings } from '@matte/core/runtime/authorities'
import {
  choice,
  type Env,
  flag,
  type Infer,
  int,
  optionalSecret,
  parseEnv,
  type Setting,
  text,
} from '@matte/core/runtime/env'
import { masterKeySettings, type OpenedKeys, openMasterKeys } from '@matte/core/runtime/master-keys'
import { parseNetworks } from '@matte/core/webhook/target/address'
import { accountsSetting, checkPayments, paymentSettings } from '@matte/people/payment/settings'
import { creditSettings } from './settings/credits.ts'
import { egressProxy } from './settings/egress-proxy.ts'
import { type MailServer, mailSettings, readMailServer } from './settings/mail.ts'

const deniedNetworks: Setting<readonly string[]> = {
  ...text('WEBHOOK_DENIED_NETWORKS', {
    description: 'CIDRs that no webhook is sent to and no image fetched from: the ranges of pods, services and nodes',
    default: '',
  }),
  fallback: [],
  parse: parseNetworks,
}

export const schema = {
  ...databaseSettings,
  databasePoolMax: int('DATABASE_POOL_MAX', {
    default: 10,
    min: 2,
    description: 'maximum database connections of this process; docs/operations/scale.md adds them up',
  }),
  ...busSettings,
  ...authoritySettings,
  ...tlsSettings,
  ...masterKeySettings,
  retryUnitSeconds: int('WEBHOOK_RETRY_UNIT_SECONDS', {
    description: 'seconds in one minute of the retry schedule',
    default: 60,
    min: 1,
    max: 3_600,
  }),
  maxRetries: int('WEBHOOK_MAX_RETRIES', {
    description: 'retries before a delivery is exhausted',
    default: 12,
    max: 100,
  }),
  timeoutSeconds: int('WEBHOOK_TIMEOUT_SECONDS', {
    description: 'total time of an attempt, DNS and body included',
    default: 15,
    min: 1,
    max: 60,
  }),
  concurrency: int('WEBHOOK_CONCURRENCY', {
    description: 'attempts in flight at once in this process; a quarter of them for one workspace',
    default: 128,
    min: 32, // a workspace's quarter then fits two receivers, so one that hangs does not block the other
    max: 4_096,
  }),
  deniedNetworks,
  egressProxy,
  uploadsFetchUrls: flag('UPLOADS_FETCH_URLS', {
    description: 'fetches images by URL for the API, which needs the same setting; docs/doors.md',
    default: false,
  }),
  ...accountsSetting,
  ...mailSettings,
  ...creditSettings,
  ...paymentSettings,
  environment: choice('MATTE_ENV', ['development', 'production'] as const, {
    default: 'production',
    description:
      'production disables features that are for trials only; development logs mails if there is no mail server',
  }),
  host: text('HOST', { default: '0.0.0.0', description: 'address to listen on' }),
  healthPort: int('HEALTH_PORT', { default: 8083, max: 65_535, description: 'port of /healthz, /readyz, /metrics' }),
  stopWithinMs: int('STOP_WITHIN_MS', {
    default: 25_000,
    min: 1_000,
    description: 'maximum milliseconds from SIGTERM to exit; less than the termination grace period of the pod',
  }),
  logLevel: choice('LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error'] as const, {
    default: 'info',
    description: 'lowest level that is logged',
  }),
  otlpEndpoint: optionalSecret('OTEL_EXPORTER_OTLP_ENDPOINT', { description: 'OTLP over HTTP; without it no tracing' }),
}

export type Config = Omit<Infer<typeof schema>, 'masterKeys'> &
  OpenedKeys & {
    /** Undefined: no mail is sent. */
    readonly mailServer: MailServer | undefined
  }

/** @throws ConfigError */
export function readConfig(env: Env): Config {
  const config = parseEnv(schema, env)
  checkPayments(config, config)
  checkTls(config)
  return Object.freeze({ ...config, ...openMasterKeys(config), mailServer: readMailServer(config) })
}
