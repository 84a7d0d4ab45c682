import { busSettings } from '@matte/core/bus-settings'
import { databaseSettings } from '@matte/core/database-settings'
import { defaultLicencePolicy, parseLicencePolicy } from '@matte/core/model/licence-policy'
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
  optionalText,
  parsed,
  parseEnv,
  secret,
  text,
} from '@matte/core/runtime/env'
import { parseNamespaces } from '@matte/core/runtime/parse-namespaces'
import { checkStoreCredentials, storeCredentialsSetting } from '@matte/core/storage/store-settings'
import { parsePlans } from '@matte/core/workspace/parse-plans'
import { defaultPlans } from '@matte/core/workspace/plan'
import { withDefaultRetention } from '@matte/core/workspace/retention'
import type { StaticModel } from './worker/static-mode.ts'

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
  s3Endpoint: secret('S3_ENDPOINT', { description: 'URL of the object store for this process' }),
  s3Bucket: text('S3_BUCKET', { default: 'matte', description: 'bucket of input images and results' }),
  s3Region: text('S3_REGION', { default: 'us-east-1', description: 'region named in signatures' }),
  s3Credentials: storeCredentialsSetting,
  s3AccessKeyId: secret('S3_ACCESS_KEY_ID', {
    description: 'access key of the object store; needed unless S3_CREDENTIALS is ambient',
    default: '',
  }),
  s3SecretAccessKey: secret('S3_SECRET_ACCESS_KEY', { description: 'secret key of the object store', default: '' }),
  s3SessionToken: optionalSecret('S3_SESSION_TOKEN', {
    description: 'session token of temporary credentials of the object store',
  }),
  tritonPools: flag('TRITON_POOLS', {
    default: false,
    description: 'route to the pods of TritonPools; if off, the process does not use Kubernetes',
  }),
  kubeNamespace: optionalText('KUBE_NAMESPACE', {
    description: "namespace of the TritonPools and of their pods; by default the pod's, or the context's",
  }),
  kubeNamespaces: parsed<readonly string[]>(
    'KUBE_NAMESPACES',
    {
      default: [],
      description:
        'further namespaces with TritonPools, separated by commas; each needs the Roles of the chart ' +
        '(docs/team-namespaces.md)',
    },
    parseNamespaces,
  ),
  poolRelease: optionalText('POOL_RELEASE', {
    description: 'value of the label matte.dev/release of the pools to serve; default: every pool of the namespace',
  }),
  unlabelledPools: flag('UNLABELLED_POOLS', {
    default: true,
    description: 'also serve pools without the label matte.dev/release; on in at most one release of a namespace',
  }),
  modelsStatic: json<readonly StaticModel[]>(
    'MODELS_STATIC',
    {
      default: [],
      description:
        'models served without Kubernetes: ' +
        '[{"name","tritonModel","addresses":["host:port"],"default","licence","tls"}]; needed unless TRITON_POOLS is on',
    },
    checkModels,
  ),
  modelsAllowedLicences: parsed(
    'MODELS_ALLOWED_LICENCES',
    {
      default: defaultLicencePolicy,
      description:
        'allowed licences of models, SPDX identifiers joined by commas; a model without a licence is then refused. ' +
        'Default: Apache-2.0, MIT, BSD-2-Clause, BSD-3-Clause, ISC and no licence; * allows all',
    },
    parseLicencePolicy,
  ),
  plans: json('PLANS', { default: defaultPlans, description: 'overrides of the default plans' }, parsePlans),
  claimMs: int('CLAIM_MS', {
    default: 15_000,
    min: 500,
    description:
      'lifetime of a claim in milliseconds; a dead worker is replaced after it, a live one renews at a third',
  }),
  claimEveryMs: int('CLAIM_EVERY_MS', {
    default: 1_000,
    min: 50,
    description: 'poll interval of a free slot in milliseconds; a lost nudge delays a task by at most this',
  }),
  sweepEveryMs: int('SWEEP_EVERY_MS', {
    default: 5_000,
    min: 100,
    description: 'pause between sweeps, milliseconds; objects are deleted as often',
  }),
  retentionEveryMs: int('RETENTION_EVERY_MS', {
    default: 30_000,
    min: 100,
    description: 'pause between sweeps of expired tasks, unused uploads and credits, milliseconds',
  }),
  ...auditSettings,
  ...retentionSettings,
  maxQueueAgeSeconds: int('MAX_QUEUE_AGE_SECONDS', {
    default: 86_400,
    min: 1,
    description: 'tasks.maxQueueAge: a task that waits longer than this fails',
  }),
  inferenceTimeoutMs: int('INFERENCE_TIMEOUT_MS', {
    default: 30_000,
    min: 100,
    description: 'timeout of one request to a model server, milliseconds',
  }),
  slotsAhead: int('SLOTS_AHEAD', {
    default: 2,
    max: 64,
    description: 'tasks per pod beyond its slots, fetched and decoded while the slots are busy',
  }),
  tasksInFlightMax: int('TASKS_IN_FLIGHT_MAX', {
    default: 128,
    min: 1,
    description: 'maximum tasks that this process has claimed at once, over all pods',
  }),
  channelsPerPod: int('CHANNELS_PER_POD', {
    default: 1,
    min: 1,
    max: 8,
    description: 'connections to each pod; one carries hundreds of requests a second, so more help only large models',
  }),
  imageMemoryBytes: int('IMAGE_MEMORY_BYTES', {
    default: 2_400_000_000,
    min: 100_000_000,
    description:
      'memory for images in this process, which needs some 300 MB more: an eighth for files, the rest for pixels ' +
      '(16 to 40 bytes each, plus 26 MB per image); a larger image runs alone',
  }),
  imageThreads: int('IMAGE_THREADS', { default: 0, max: 64, description: 'threads for pixels; 0: one per core' }),
  // Node reads it before this code runs; this is the effective value.
  threadPoolSize: int('UV_THREADPOOL_SIZE', {
    default: 4,
    min: 3,
    max: 1_024,
    description:
      "threads of Node's own pool; images decoded at once plus two. Set it before the process starts, best to cores " +
      'plus two (make up: 16)',
  }),
  host: text('HOST', { default: '0.0.0.0', description: 'address to listen on' }),
  healthPort: int('HEALTH_PORT', { default: 8082, max: 65_535, description: 'port of /healthz, /readyz, /metrics' }),
  stopWithinMs: int('STOP_WITHIN_MS', {
    default: 25_000,
    min: 1_000,
    description: 'maximum time from SIGTERM to exit, milliseconds; below the grace period of the pod',
  }),
  environment: choice('MATTE_ENV', ['development', 'production'] as const, {
    default: 'production',
    description: 'fault injection works outside production only',
  }),
  logLevel: choice('LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error'] as const, {
    default: 'info',
    description: 'minimum level of log lines',
  }),
  otlpEndpoint: optionalSecret('OTEL_EXPORTER_OTLP_ENDPOINT', {
    description: 'URL of an OTLP/HTTP collector; default: no tracing',
  }),
}

export type Config = Infer<typeof schema>

/** @throws ConfigError */
export function readConfig(env: Env): Config {
  const read = parseEnv(schema, env)
  const config = { ...read, plans: withDefaultRetention(read.plans, read.defaultRetentionSeconds) }
  releaseOf(config)
  checkStoreCredentials(config)
  checkTls(config)
  if (config.tritonPools || config.modelsStatic.length > 0) return config
  throw new ConfigError('The configuration is invalid:\nno model is served: set MODELS_STATIC, or turn TRITON_POOLS on')
}

/** Release whose pools this process serves; undefined means all pools of the namespace. @throws ConfigError */
export function releaseOf({ poolRelease, unlabelledPools }: ReleaseSettings) {
  if (poolRelease !== undefined) return { name: poolRelease, unlabelledPools }
  if (unlabelledPools) return undefined
  throw new ConfigError(
    'UNLABELLED_POOLS is off, so no pool would be served: set POOL_RELEASE to the name of the release.',
  )
}

type ReleaseSettings = Pick<Config, 'poolRelease' | 'unlabelledPools'>

function checkModels(value: unknown): readonly StaticModel[] {
  if (!Array.isArray(value) || value.length === 0) throw new Error('must be a list with at least one model')
  const models = value.map((entry: Partial<StaticModel>, index): StaticModel => {
    const { name, tritonModel, addresses } = entry
    if (typeof name !== 'string' || typeof tritonModel !== 'string' || !Array.isArray(addresses)) {
      throw new Error(`entry ${index} needs name, tritonModel and addresses`)
    }
    const wrong = addresses.find((address) => !/^[^\s/]+:\d{1,5}$/.test(String(address)))
    if (wrong !== undefined) throw new Error(`entry ${index} has an address that is not host:port`)
    const { licence, tls = false } = entry
    if (typeof tls !== 'boolean') throw new Error(`entry ${index} has a tls that is not true or false`)
    if (licence !== undefined && typeof licence !== 'string')
      throw new Error(`entry ${index} has a licence that is not a string`)
    const more = { ...(licence && { licence }), ...(tls && { tls }) }
    return { name, tritonModel, addresses, default: entry.default === true, ...more }
  })
  const plain = new Set(models.flatMap((model) => (model.tls ? [] : model.addresses)))
  const both = models.find((model) => model.tls && model.addresses.some((address) => plain.has(address)))
  if (both !== undefined) throw new Error(`${both.name} has tls and shares an address with a model without`)
  if (models.filter((model) => model.default).length > 1) throw new Error('may have one default only')
  return models
}
