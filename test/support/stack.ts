// A whole service for one test file: fresh database, bucket and stream prefix, a workspace with a key, and our three
// processes. Servers are shared by all files, except those that the test wants to stop.
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Db } from '@matte/core/db/database'
import { writeSetting } from '@matte/core/setting/setting-queries'
import { generateApiKey } from '@matte/core/workspace/api-key'
import { insertApiKey } from '@matte/core/workspace/api-key-queries'
import { scopes } from '@matte/core/workspace/scope'
import { afterAll, beforeAll, inject } from 'vitest'
import { type Client, createClient } from './client.ts'
import { createTestDatabase, makeTemplate } from './database.ts'
import { givenWorkspace } from './factories.ts'
import { watchFailures } from './has-failed.ts'
import { newPrefix, removeStreams } from './nats.ts'
import { type Env, type ProcessName, showLog, startTestProcess, type TestProcess } from './processes.ts'
import { type OwnServer, ownNats, ownPostgres, ownStore, ownTriton } from './servers.ts'
import { createTestBucket, newBucketName, type StoreAccess, sharedStore, type TestBucket } from './store.ts'

export type ServerName = 'postgres' | 'nats' | 'store' | 'triton'

export type StackOptions = {
  /** Servers that belong to this test, which may stop, kill or wipe them. */
  readonly own?: readonly ServerName[]
  /** Starts the test's own PostgreSQL if it is more than one server. */
  readonly startPostgres?: (dir: string) => Promise<OwnServer>
  /** Additional settings of the test's own PostgreSQL. */
  readonly postgresSettings?: Readonly<Record<string, string>>
  /** Additional variables of a process. */
  readonly env?: Partial<Readonly<Record<ProcessName, Env>>>
  /** Processes to start at once; others by `start`. */
  readonly processes?: readonly ProcessName[]
}

export type Stack = {
  readonly db: Db
  readonly bucket: TestBucket
  readonly natsUrl: string
  readonly prefix: string
  /** The public API, with a key of a workspace on plan `internal`. */
  readonly client: Client
  readonly workspaceId: string
  /** One of the test's own servers. */
  server(name: ServerName): OwnServer
  /** Settings of a process, for tests that start it themselves. */
  env(name: ProcessName): Env
  /** A running process: the latest by this name. */
  process(name: ProcessName): TestProcess
  /** All running processes by this name. */
  processes(name: ProcessName): readonly TestProcess[]
  /** Starts another process, such as a second controller. `env` may be a function of the default settings. */
  start(name: ProcessName, env?: Env | ((env: Env) => Env)): Promise<TestProcess>
}

/** Short for a test, and long enough for a busy machine to keep its claims. */
const testEnv: Partial<Record<ProcessName, Env>> = {
  api: { MATTE_ENV: 'development', DRAIN_MS: '0', FAILED_CREDENTIALS_PER_MINUTE: '1000000' },
  worker: { MATTE_ENV: 'development', CLAIM_MS: '3000', CLAIM_EVERY_MS: '250', SWEEP_EVERY_MS: '250' },
  dispatcher: { WEBHOOK_RETRY_UNIT_SECONDS: '1' },
}

const storeKeys = { accessKeyId: 'test', secretAccessKey: 'test-secret-key' }

/** A service for the tests of the enclosing block; use it inside tests and hooks only. */
export function useStack(options: StackOptions = {}): Stack {
  const hasFailed = watchFailures()
  let running: Running | undefined
  const there = (): Stack => {
    if (running === undefined) throw new Error('the service is there inside tests and hooks only')
    return running.stack
  }
  beforeAll(async () => {
    running = await startStack(options)
  })
  afterAll(async () => {
    await running?.end(hasFailed())
  })
  return {
    get db() {
      return there().db
    },
    get bucket() {
      return there().bucket
    },
    get natsUrl() {
      return there().natsUrl
    },
    get prefix() {
      return there().prefix
    },
    get client() {
      return there().client
    },
    get workspaceId() {
      return there().workspaceId
    },
    server: (name) => there().server(name),
    env: (name) => there().env(name),
    process: (name) => there().process(name),
    processes: (name) => there().processes(name),
    start: (name, env) => there().start(name, env),
  }
}

type Running = { readonly stack: Stack; end(failed: boolean): Promise<void> }

async function startStack(options: StackOptions) {
  const { own = [], env = {}, processes = ['api', 'worker', 'dispatcher'] } = options
  const dir = join(inject('runDir'), `stack-${randomBytes(4).toString('hex')}`)
  mkdirSync(dir, { recursive: true, mode: 0o755 })
  const ends: (() => unknown)[] = []
  const running: TestProcess[] = []
  const end = async (failed: boolean): Promise<void> => {
    if (failed) process.stdout.write(`${running.map((each) => showLog(each)).join('\n')}\n`)
    await Promise.all(running.map((each) => each.stop()))
    for (const endIt of ends.reverse()) await endIt()
  }
  try {
    const servers = await startOwnServers(own, dir, options)
    ends.push(() => Promise.all([...servers.values()].map((server) => server.stop())))
    const stack = await buildStack(servers, env, { dir, running, ends })
    await Promise.all(processes.map((name) => stack.start(name)))
    return { stack, end } satisfies Running
  } catch (error) {
    await end(true)
    throw error
  }
}

async function startOwnServers(
  own: readonly ServerName[],
  dir: string,
  { startPostgres, postgresSettings }: StackOptions,
): Promise<Map<ServerName, OwnServer>> {
  const place = { dir, say: (line: string) => void process.stdout.write(`[servers] ${line}\n`) }
  const start: Record<ServerName, () => Promise<OwnServer>> = {
    postgres: () => startPostgres?.(dir) ?? ownPostgres(place, undefined, postgresSettings),
    nats: () => ownNats(place),
    store: () => ownStore(place, storeKeys),
    triton: () => ownTriton(place),
  }
  return new Map(await Promise.all(own.map(async (name) => [name, await start[name]()] as const)))
}

type Parts = {
  readonly dir: string
  readonly running: TestProcess[]
  readonly ends: (() => unknown)[]
}

async function buildStack(
  servers: ReadonlyMap<ServerName, OwnServer>,
  env: NonNullable<StackOptions['env']>,
  { dir, running, ends }: Parts,
): Promise<Stack> {
  const ownDatabase = servers.get('postgres')
  if (ownDatabase) await makeTemplate(ownDatabase.url)
  const database = await createTestDatabase(ownDatabase?.url)
  const { db } = database
  ends.push(() => (ownDatabase ? db.destroy() : database.drop()))
  const ownStoreUrl = servers.get('store')?.url
  const access: StoreAccess = ownStoreUrl === undefined ? sharedStore() : { endpoint: ownStoreUrl, ...storeKeys }
  const bucket = await createTestBucket(access, { name: newBucketName() })
  ends.push(() => bucket.close())
  const prefix = newPrefix()
  const natsUrl = servers.get('nats')?.url ?? inject('natsUrl')
  if (!servers.has('nats')) ends.push(() => removeStreams(natsUrl, prefix))
  const tritonAddress = servers.get('triton')?.url ?? inject('tritonAddress')
  const common = buildEnv({ databaseUrl: database.url, natsUrl, prefix, access, bucket: bucket.name, tritonAddress })
  await writeSetting(db, 'webhooks.allowedTargets', ['127.0.0.1:*'])
  const { workspaceId, apiKey } = await givenCaller(db)

  const alive = (name: ProcessName): TestProcess => {
    const found = running.findLast((each) => each.name === name && each.isAlive())
    if (found === undefined) throw new Error(`no ${name} is running`)
    return found
  }
  const envOf = (name: ProcessName): Env => ({ ...common, ...testEnv[name], ...env[name] })
  return {
    db,
    bucket,
    natsUrl,
    prefix,
    workspaceId,
    env: envOf,
    get client() {
      return createClient(alive('api').url, apiKey)
    },
    server: (name) => {
      const server = servers.get(name)
      if (server === undefined) throw new Error(`${name} is shared here: name it in "own" to take it down`)
      return server
    },
    process: alive,
    processes: (name) => running.filter((each) => each.name === name && each.isAlive()),
    start: async (name, more = {}) => {
      const usual = envOf(name)
      const changes = typeof more === 'function' ? more(usual) : more
      const started = await startTestProcess(name, dir, { ...usual, ...changes })
      running.push(started)
      return started
    },
  }
}

type Places = {
  readonly databaseUrl: string
  readonly natsUrl: string
  readonly prefix: string
  readonly access: StoreAccess
  readonly bucket: string
  readonly tritonAddress: string
}

/** Settings of all processes; each reads its own. */
const buildEnv = ({ databaseUrl, natsUrl, prefix, access, bucket, tritonAddress }: Places): Env => ({
  DATABASE_URL: databaseUrl,
  NATS_URL: natsUrl,
  NATS_STREAM_PREFIX: prefix,
  S3_ENDPOINT: access.endpoint,
  S3_BUCKET: bucket,
  S3_ACCESS_KEY_ID: access.accessKeyId,
  S3_SECRET_ACCESS_KEY: access.secretAccessKey,
  MASTER_KEYS: `test:${Buffer.alloc(32, 1).toString('base64')}`,
  MODELS_STATIC: JSON.stringify([
    { name: 'service-v2', tritonModel: 'u2netp', addresses: [tritonAddress], default: true },
  ]),
})

async function givenCaller(db: Db): Promise<{ workspaceId: string; apiKey: string }> {
  const { id: workspaceId } = await givenWorkspace(db)
  const key = generateApiKey()
  await insertApiKey(db, key, { workspaceId, name: 'test', scopes, expiresAt: null })
  return { workspaceId, apiKey: key.key }
}
