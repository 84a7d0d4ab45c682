// Environment of the API, worker and dispatcher in local mode.
import { configSchema as apiSchema } from '@matte/api/config'
import { schema as workerSchema } from '@matte/controller/config'
import { roleName } from '@matte/core/db/roles/role-statements'
import type { ProcessRole } from '@matte/core/db/roles/table-rights'
import { schema as dispatcherSchema } from '@matte/dispatcher/config'
import type { ListedModel } from './models/model-repository.ts'
import type { Ports } from './ports.ts'
import type { Secrets } from './secrets.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** Existing servers, used instead of started ones. */
export type ExistingServers = {
  readonly databaseUrl?: string
  readonly natsUrl?: string
  readonly s3?: { readonly endpoint: string; readonly accessKeyId: string; readonly secretAccessKey: string }
  /** `host:port` of gRPC. */
  readonly tritonAddress?: string
}

/** @throws Error if `S3_ENDPOINT` lacks its keys, or `TRITON_URL` its port */
export function readExistingServers(env: Env): ExistingServers {
  const { DATABASE_URL, NATS_URL, S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, TRITON_URL } = env
  if (S3_ENDPOINT && !(S3_ACCESS_KEY_ID && S3_SECRET_ACCESS_KEY)) {
    throw new Error('S3_ENDPOINT is set: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY for that store as well.')
  }
  return {
    ...(DATABASE_URL && { databaseUrl: DATABASE_URL }),
    ...(NATS_URL && { natsUrl: NATS_URL }),
    ...(S3_ENDPOINT &&
      S3_ACCESS_KEY_ID &&
      S3_SECRET_ACCESS_KEY && {
        s3: { endpoint: S3_ENDPOINT, accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY },
      }),
    ...(TRITON_URL && { tritonAddress: toTritonAddress(TRITON_URL) }),
  }
}

function toTritonAddress(url: string): string {
  const address = url.replace(/^[a-z]+:\/\//, '').replace(/\/$/, '')
  if (!/^[^\s/]+:\d{1,5}$/.test(address)) throw new Error('TRITON_URL must be host:port of the gRPC endpoint.')
  return address
}

/** Name of the started server's database and of its owner. */
const databaseName = 'matte'

type LocalProcess = 'api' | 'worker' | 'dispatcher'

type Environments = {
  /** Shared settings; `DATABASE_URL` is the owner's, for `matte-admin`. */
  readonly common: NodeJS.ProcessEnv
  readonly processes: Readonly<Record<LocalProcess, NodeJS.ProcessEnv>>
}

type EnvironmentOptions = {
  readonly ports: Ports
  readonly secrets: Secrets
  readonly existing: ExistingServers
  readonly models: readonly ListedModel[]
  readonly given: Env
}

export function buildEnvironments(options: EnvironmentOptions): Environments {
  const { ports, secrets, existing, given } = options
  const database = (role?: ProcessRole): string => {
    if (existing.databaseUrl !== undefined) return existing.databaseUrl
    const user = role === undefined ? databaseName : roleName(databaseName, role)
    const password = role === undefined ? secrets.databasePassword : secrets.rolePasswords[role]
    return `postgresql://${user}:${encodeURIComponent(password)}@127.0.0.1:${ports.postgres}/${databaseName}`
  }
  const { endpoint, accessKeyId, secretAccessKey } = existing.s3 ?? {
    endpoint: `http://127.0.0.1:${ports.s3}`,
    accessKeyId: secrets.s3AccessKeyId,
    secretAccessKey: secrets.s3SecretAccessKey,
  }
  const common = {
    ...pickSettings(given),
    PATH: given.PATH,
    DATABASE_URL: database(),
    NATS_URL: existing.natsUrl ?? `nats://127.0.0.1:${ports.nats}`,
    NATS_STREAM_PREFIX: given.NATS_STREAM_PREFIX || 'matte',
    S3_ENDPOINT: endpoint,
    S3_BUCKET: given.S3_BUCKET || 'matte',
    S3_REGION: given.S3_REGION || 'us-east-1',
    S3_ACCESS_KEY_ID: accessKeyId,
    S3_SECRET_ACCESS_KEY: secretAccessKey,
    PUBLIC_URL: given.PUBLIC_URL || `http://127.0.0.1:${ports.api}`,
    MASTER_KEYS: `k1:${secrets.masterKey}`,
    MASTER_KEYS_FILE: '', // the caller's would contradict MASTER_KEYS
    MATTE_ENV: 'development',
    DRAIN_MS: given.DRAIN_MS || '0', // no load balancer to wait for
    LOG_LEVEL: given.LOG_LEVEL || 'info',
    HOST: '127.0.0.1',
  }
  const models = options.models.map(({ modelVersion, folder, isDefault }) => ({
    name: modelVersion,
    tritonModel: folder,
    addresses: [existing.tritonAddress ?? `127.0.0.1:${ports.tritonGrpc}`],
    default: isDefault,
  }))
  return {
    common,
    processes: {
      api: {
        ...common,
        DATABASE_URL: database('api'),
        PORT: String(ports.api),
        HEALTH_PORT: String(ports.apiHealth),
        // Free, the plan of everyone else, has no API access.
        ACCOUNTS_FIRST_PLAN: given.ACCOUNTS_FIRST_PLAN || 'internal',
      },
      worker: {
        ...common,
        DATABASE_URL: database('worker'),
        HEALTH_PORT: String(ports.workerHealth),
        MODELS_STATIC: given.MODELS_STATIC || JSON.stringify(models),
      },
      dispatcher: {
        ...common,
        DATABASE_URL: database('dispatcher'),
        HEALTH_PORT: String(ports.dispatcherHealth),
      },
    },
  }
}

function pickSettings(given: Env): NodeJS.ProcessEnv {
  const settings = [apiSchema, workerSchema, dispatcherSchema].flatMap((schema) => Object.values(schema))
  const names = new Set(settings.map((setting) => setting.variable))
  return Object.fromEntries(Object.entries(given).filter(([name, value]) => names.has(name) && value))
}
