import { fileURLToPath } from 'node:url'
import { busSettings } from '@matte/core/bus-settings'
import { databaseSettings } from '@matte/core/database-settings'
import { checkTls, tlsSettings } from '@matte/core/required-tls'
import { auditSettings, retentionSettings } from '@matte/core/retention/settings'
import { authoritySettings } from '@matte/core/runtime/authorities'
import {
  ConfigError,
  choice,
  type Env,
  flag,
  type Infer,
  int,
  json,
  optionalSecret,
  parsed,
  parseEnv,
  type Schema,
  secret,
  text,
} from '@matte/core/runtime/env'
import { masterKeySettings, type OpenedKeys, openMasterKeys } from '@matte/core/runtime/master-keys'
import { checkStoreCredentials, storeCredentialsSetting } from '@matte/core/storage/store-settings'
import { parseNetworks, parseSources } from '@matte/core/webhook/target/address'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { defaultPlans } from '@matte/core/workspace/plan'
import { withDefaultRetention } from '@matte/core/workspace/retention'
import { sessionSettings } from '@matte/people/identity/session/settings'
import { accountsSetting, checkPayments, paymentSettings } from '@matte/people/payment/settings'
import { checkDoors, doorSettings } from './doors/settings.ts'
import { pagesPath } from './pages/page.ts'

const registrations = ['open', 'invite', 'closed'] as const
export type Registration = (typeof registrations)[number]

const accountSettings = {
  appUrl: parsed<string | undefined>(
    'APP_URL',
    {
      description:
        'base URL of links in mails, such as https://app.example.com; by default the console, or pages of the API ' +
        'without it',
      default: undefined,
    },
    parseAppUrl,
  ),
  mailEnabled: flag('MAIL_ENABLED', {
    description:
      'the dispatcher has an SMTP server; without one registration, invitations and reset are off in production',
    default: false,
  }),
  registration: parsed<Registration | undefined>(
    'AUTH_REGISTRATION',
    {
      description: 'who may register: open, invite or closed; default open in development, invite in production',
      default: undefined,
    },
    parseRegistration,
  ),
  firstPlan: text('ACCOUNTS_FIRST_PLAN', {
    description:
      'plan of the first person who verifies an address in this installation, such as internal; everyone else starts ' +
      'with free. With an open registration this may be a stranger, so register first',
    default: 'free',
  }),
  verificationMailsPerMinute: int('VERIFICATION_MAILS_PER_MINUTE', {
    description:
      'maximum of address verification mails per minute over all replicas; further ones wait. One address gets ' +
      'five at once, then one per hour. 0: no limit',
    default: 120,
    max: 100_000,
  }),
} as const satisfies Schema

function parseRegistration(value: string): Registration {
  const known = registrations.find((each) => each === value)
  if (known === undefined) throw new Error(`must be one of ${registrations.join(', ')}`)
  return known
}

function parseAppUrl(value: string): string {
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new Error('must be an http or https URL without query and fragment')
  }
  return url.href.replace(/\/$/, '')
}

/** Characters of 32 random bytes in base64. */
const operatorTokenMin = 43

const operatorSettings = {
  operatorToken: parsed<string | undefined>(
    'OPERATOR_TOKEN',
    {
      description:
        'token of operators for /api/v1/operator, at least 43 characters, such as from openssl rand -hex 32; without ' +
        'it only links of matte-admin console-link work',
      default: undefined,
      secret: true,
    },
    parseOperatorToken,
  ),
} as const satisfies Schema

function parseOperatorToken(value: string): string {
  if (!/^[\w.~+/=-]+$/.test(value) || value.length < operatorTokenMin || value.length > 512) {
    throw new Error(
      `must be ${operatorTokenMin} to 512 of A-Z a-z 0-9 . _ ~ + / = -: generate one with openssl rand -hex 32`,
    )
  }
  return value
}

const referralSettings = {
  referralRewardCredits: int('REFERRAL_REWARD_CREDITS', {
    default: 50,
    max: 1_000_000,
    description: 'credits for a referrer once the first task of the referred user has succeeded; 0 grants none',
  }),
} as const satisfies Schema

const signInSettings = {
  passwordHashesMax: int('PASSWORD_HASHES_MAX', {
    description:
      'concurrent password hashes, each with 19 MiB and a core for about 10 ms: 1 gives about sixty a second; ' +
      'keep it below the number of cores',
    default: 1,
    min: 1,
    max: 64,
  }),
  passwordHashesWaitingMax: int('PASSWORD_HASHES_WAITING_MAX', {
    description:
      'maximum of waiting password hashes, served round-robin by network; above it the newest of the busiest ' +
      'network gets 429 with details.limit capacity',
    default: 500,
    min: 0,
  }),
} as const satisfies Schema

const streamSettings = {
  streamsMax: int('STREAMS_MAX', {
    description:
      'open streams of task changes per process, a quarter of them per workspace or member; more get 429 with ' +
      'details.limit capacity. Each uses one of MAX_CONNECTIONS',
    default: 1_000,
    min: 1,
    max: 100_000,
  }),
  webhookStreamsMax: int('WEBHOOK_STREAMS_MAX', {
    description:
      'open streams of webhooks (`matte webhooks listen`) per process, a quarter of them per workspace; more get 429 ' +
      'with details.limit capacity. Each uses one of MAX_CONNECTIONS',
    default: 100,
    min: 1,
    max: 100_000,
  }),
  webhookStreamKeptMinutes: int('WEBHOOK_STREAM_KEPT_MINUTES', {
    description:
      'minutes that a webhook is stored for streams that reconnect, and that a workspace’s webhooks are stored after ' +
      'its last stream; at most 10,000 per workspace',
    default: 60,
    min: 1,
    max: 1_440,
  }),
} as const satisfies Schema

/** All environment variables of the API process; `.env` files are not read. */
export const configSchema = {
  host: parsed(
    'HOST',
    { description: 'address that both ports listen on; not localhost, which is two', default: '0.0.0.0' },
    oneAddress,
  ),
  port: int('PORT', { description: 'port of the API and of the object store behind it', default: 8080, max: 65_535 }),
  healthPort: int('HEALTH_PORT', {
    description: 'port of /healthz, /readyz and /metrics',
    default: 8081,
    max: 65_535,
  }),
  publicUrl: parsed(
    'PUBLIC_URL',
    { description: 'origin that callers use, such as https://matte.example.com' },
    parseOrigin,
  ),
  hstsMaxAgeSeconds: int('HSTS_MAX_AGE_SECONDS', {
    description:
      'seconds for which browsers call the host of an https PUBLIC_URL, on any port, by HTTPS alone ' +
      '(Strict-Transport-Security); 0 makes them forget it',
    default: 31_536_000,
    min: 0,
    max: 63_072_000,
  }),
  ...databaseSettings,
  databasePoolMax: int('DATABASE_POOL_MAX', {
    description: 'maximum database connections of this process; docs/operations/scale.md adds them up',
    default: 10,
    min: 1,
    max: 1_000,
  }),
  ...busSettings,
  ...authoritySettings,
  ...tlsSettings,
  s3Endpoint: parsed(
    'S3_ENDPOINT',
    { description: 'origin of the object store as this process reaches it, such as http://127.0.0.1:8333' },
    parseOrigin,
  ),
  s3PublicEndpoint: parsed<string | undefined>(
    'S3_PUBLIC_ENDPOINT',
    {
      description: 'origin in presigned URLs; PUBLIC_URL by default, where this process proxies the store',
      default: undefined,
    },
    parseOrigin,
  ),
  s3Bucket: parsed('S3_BUCKET', { description: 'bucket of uploads and results', default: 'matte' }, parseBucketName),
  s3Region: text('S3_REGION', { description: 'region that requests are signed for', default: 'us-east-1' }),
  s3Credentials: storeCredentialsSetting,
  s3AccessKeyId: secret('S3_ACCESS_KEY_ID', {
    description: 'long-lived access key: its links live for 7 days; needed unless S3_CREDENTIALS is ambient',
    default: '',
  }),
  s3SecretAccessKey: secret('S3_SECRET_ACCESS_KEY', { description: 'secret of that access key', default: '' }),
  s3SessionToken: optionalSecret('S3_SESSION_TOKEN', {
    description: 'session token of temporary credentials; results then go through this process, see RESULTS_DELIVERY',
  }),
  uploadsSignContentLength: flag('UPLOADS_SIGN_CONTENT_LENGTH', {
    description:
      'an upload URL of the object store accepts only a file of exactly the given fileSize; false, for a store that ' +
      'refuses such URLs: every upload passes through this process; docs/operations/stores.md',
    default: true,
  }),
  uploadsFetchUrls: flag('UPLOADS_FETCH_URLS', {
    description:
      'the dispatcher fetches images by URL for callers, from public addresses only; it needs the same setting; ' +
      'docs/doors.md',
    default: false,
  }),
  ...masterKeySettings,
  resultsDelivery: choice('RESULTS_DELIVERY', ['presign', 'gateway'], {
    description:
      'how results are downloaded: presign, from the object store; gateway, through this process at ' +
      'PUBLIC_URL/files/, which needs no long-lived access key and is the default with temporary credentials; ' +
      'only links of the gateway end with the API key or the membership that got them',
    default: 'presign',
  }),
  tasksMaxWaitSeconds: int('TASKS_MAX_WAIT', {
    description: 'longest wait in seconds, for task creation with Prefer: wait and for webhook endpoint tests',
    default: 25,
    // Must stay below the 60 s after which a silent socket is closed (app.ts).
    max: 50,
  }),
  legacyEnabled: flag('LEGACY_ENABLED', {
    description: 'serves the deprecated paths /v1/tasks',
    default: true,
  }),
  legacySunset: parsed<Date | undefined>(
    'LEGACY_SUNSET',
    {
      description: 'removal date of the deprecated paths, such as 2027-07-01; sent in the header Sunset',
      default: undefined,
    },
    parseDate,
  ),
  ...doorSettings,
  consoleEnabled: flag('CONSOLE_ENABLED', {
    description: 'serves the console, a web page for people and operators, at /',
    default: true,
  }),
  consoleDir: text('CONSOLE_DIR', {
    description: 'folder of the built console; api/console/dist of this checkout by default',
    default: '',
  }),
  docsDir: text('DOCS_DIR', {
    description: 'folder of the built documentation, served at /docs; relative to the working directory',
    default: 'docs/site/dist',
  }),
  plans: json(
    'PLANS',
    { description: 'changes to the plans, {"pro":{"monthlyQuota":2000}}', default: defaultPlans },
    parsePlans,
  ),
  corsAllowedOrigins: parsed(
    'CORS_ALLOWED_ORIGINS',
    { description: 'origins whose pages may call the API, separated by commas; * allows all', default: [] },
    parseOrigins,
  ),
  webhookDeniedNetworks: parsed(
    'WEBHOOK_DENIED_NETWORKS',
    {
      description: 'CIDRs that webhooks must not reach (pods, services, hosts), separated by commas or spaces',
      default: [],
    },
    parseNetworks,
  ),
  webhookEgressAddresses: parsed(
    'WEBHOOK_EGRESS_ADDRESSES',
    {
      description: 'source addresses or networks of webhooks, shown to owners of receivers; empty means unknown',
      default: [],
    },
    parseSources,
  ),
  trustedProxyHops: int('TRUSTED_PROXY_HOPS', {
    description: 'number of proxies in front whose X-Forwarded-For is trusted',
    default: 0,
    max: 10,
  }),
  maxConnections: int('MAX_CONNECTIONS', {
    description: 'open connections; further ones are closed immediately',
    default: 4_096,
    min: 1,
  }),
  requestsInWorkMax: int('REQUESTS_IN_WORK_MAX', {
    description: 'concurrent requests, a quarter of them per workspace; more get 429 with details.limit capacity',
    default: 256,
    min: 1,
  }),
  failedCredentialsPerMinute: int('FAILED_CREDENTIALS_PER_MINUTE', {
    description: 'failed credentials per minute from one IPv4 address or IPv6 /64 before 429',
    default: 60,
    min: 1,
  }),
  openRequestsPerMinute: int('OPEN_REQUESTS_PER_MINUTE', {
    description:
      'requests per minute from one IPv4 address or IPv6 /64 to operations before sign-in (register, login) ' +
      'before 429',
    default: 60,
    min: 1,
  }),
  ...accountsSetting,
  ...accountSettings,
  // For matte-admin, which runs in the pods of the API.
  ...auditSettings,
  ...retentionSettings,
  ...streamSettings,
  ...signInSettings,
  ...sessionSettings,
  ...paymentSettings,
  ...referralSettings,
  ...operatorSettings,
  environment: choice('MATTE_ENV', ['development', 'production'], {
    description: 'production disables features that are for trials only',
    default: 'production',
  }),
  logLevel: choice('LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
    description: 'minimum level that is logged',
    default: 'info',
  }),
  otelEndpoint: optionalSecret('OTEL_EXPORTER_OTLP_ENDPOINT', {
    description: 'OTLP/HTTP endpoint for traces, such as http://collector:4318; absent: no tracing',
  }),
  drainMs: int('DRAIN_MS', {
    description:
      'time in milliseconds after SIGTERM during which new requests are still served, with Connection: close, ' +
      'until load balancers and clients have switched; part of STOP_WITHIN_MS',
    default: 5_000,
    min: 0,
  }),
  stopWithinMs: int('STOP_WITHIN_MS', {
    description:
      'time to finish requests after SIGTERM, in milliseconds; must be below the termination grace period of the pod',
    default: 30_000,
    min: 1_000,
  }),
} as const satisfies Schema

type Read = Infer<typeof configSchema>
export type Config = Omit<Read, 's3PublicEndpoint' | 'appUrl' | 'registration' | 'masterKeys'> &
  OpenedKeys & {
    readonly s3PublicEndpoint: string
    readonly appUrl: string
    readonly registration: Registration
  }

/** `make console` builds it there. */
const builtConsole = fileURLToPath(new URL('../console/dist', import.meta.url))

export function readConfig(env: Env): Config {
  const config = parseEnv(configSchema, env)
  checkPayments(config, config)
  checkStoreCredentials(config)
  checkTls(config)
  checkDoors(config)
  checkFirstPlan(config)
  return Object.freeze({
    ...config,
    plans: withDefaultRetention(config.plans, config.defaultRetentionSeconds),
    ...openMasterKeys(config),
    s3PublicEndpoint: config.s3PublicEndpoint ?? config.publicUrl,
    consoleDir: config.consoleDir || builtConsole,
    appUrl: config.appUrl ?? (config.consoleEnabled ? config.publicUrl : `${config.publicUrl}${pagesPath}`),
    registration: config.registration ?? (config.environment === 'production' ? 'invite' : 'open'),
    resultsDelivery: deliveryOf(config, Boolean(env.RESULTS_DELIVERY)),
  })
}

function checkFirstPlan({ firstPlan, plans }: Pick<Read, 'firstPlan' | 'plans'>): void {
  if (!Object.hasOwn(plans, firstPlan)) {
    throw new ConfigError(`ACCOUNTS_FIRST_PLAN: must be one of ${Object.keys(plans).join(', ')}`)
  }
}

/** A presigned link expires with the credentials that signed it; temporary ones live for hours. */
function deliveryOf(config: Read, isChosen: boolean): Read['resultsDelivery'] {
  const { resultsDelivery, s3SessionToken, s3Credentials } = config
  if (s3SessionToken === undefined && s3Credentials === 'keys') return resultsDelivery
  if (isChosen && resultsDelivery === 'presign') {
    const cause = s3SessionToken === undefined ? 'S3_CREDENTIALS=ambient' : 'S3_SESSION_TOKEN'
    throw new ConfigError(`RESULTS_DELIVERY: must be gateway with ${cause}: links would expire with the credentials`)
  }
  return 'gateway'
}

/** Fastify would listen on both addresses by two servers, and the second has no limits of connections. */
function oneAddress(value: string): string {
  if (value !== 'localhost') return value
  throw new Error('must be one address, such as 127.0.0.1 or ::1')
}

function parseOrigin(value: string): string {
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol)) throw new Error('must be an http or https URL')
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '') {
    throw new Error('must be an origin only: scheme, host and port')
  }
  return url.origin
}

/** The bucket is the first path segment on this origin and must not hide the API's own paths. */
function parseBucketName(value: string): string {
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value))
    throw new Error('must be a bucket name: 3 to 63 of a-z 0-9 . -')
  if (/^(api|v1|files)/.test(value)) throw new Error('must not begin with api, v1 or files')
  if (['assets', 'docs'].includes(value)) throw new Error('must not be assets or docs: the API serves these paths')
  return value
}

function parseDate(value: string): Date {
  const date = new Date(value)
  if (!/^\d{4}-\d{2}-\d{2}/.test(value) || Number.isNaN(date.getTime())) throw new Error('must be an ISO 8601 date')
  return date
}

function parseOrigins(value: string): readonly string[] {
  return value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((origin) => (origin === '*' ? origin : parseOrigin(origin)))
}
