// Installs and starts all parts: four servers at once, then the processes as soon as database, NATS and object store
// are ready. The inference server may still be loading.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@matte/core/db/database'
import { applyRoles, type RolePasswords } from '@matte/core/db/roles/apply-roles'
import { schemaAtStart } from '@matte/core/db/schema'
import { createLogger } from '@matte/core/runtime/logger'
import { openBucket } from '@matte/core/storage/bucket'
import { buildEnvironments, type Env, type ExistingServers } from './environment.ts'
import { pidFileOf, readLiveRecord } from './lifecycle/pid-file.ts'
import type { RunningServer, StartOptions } from './lifecycle/server.ts'
import { prepareModelRepository, readListedModels } from './models/model-repository.ts'
import { type Layout, rootDir } from './paths.ts'
import type { PartName, Ports } from './ports.ts'
import { deriveObjectStorePorts } from './ports.ts'
import { type Say, sayWhile } from './say.ts'
import { type Secrets, writePrivately } from './secrets.ts'
import { installNats, startNats } from './servers/nats.ts'
import { installObjectStore, startObjectStore } from './servers/object-store.ts'
import { installPostgres, startPostgres } from './servers/postgres.ts'
import { startProcess, treeVersion } from './servers/process.ts'
import { installTriton, startTriton } from './servers/triton.ts'

const modelsDir = join(rootDir, 'models')

type StartPartsOptions = {
  readonly layout: Layout
  readonly ports: Ports
  readonly existing: ExistingServers
  readonly parts: ReadonlySet<PartName>
  readonly secrets: Secrets
  readonly given: Env
  readonly say: Say
}

/** @throws AggregateError with one error per failed part; the others keep running */
export async function startParts(options: StartPartsOptions): Promise<{ common: NodeJS.ProcessEnv; apiUrl: string }> {
  const { common, processes: environments } = buildEnvironments({
    ...options,
    models: readListedModels(modelsDir),
  })
  const servers = startServers(options)
  const processes = Promise.all([servers.postgres, servers.nats, servers.objectStore]).then(async () => {
    await Promise.all([ensureBucket(common), prepareDatabase(common, options)])
    await startProcesses(options, environments)
  })
  writePrivately(options.layout.commonEnvFile, `${JSON.stringify(common, null, 2)}\n`)
  await settle([...Object.values(servers), processes])
  return { common, apiUrl: `http://127.0.0.1:${options.ports.api}` }
}

function startServers(options: StartPartsOptions) {
  const { layout, ports, secrets, say } = options
  return {
    postgres: launch(options, 'postgres', async (start) =>
      startPostgres({
        ...start,
        installation: await installPostgres(),
        dataDir: join(layout.dataDir, 'postgres'),
        port: ports.postgres,
        password: secrets.databasePassword,
      }),
    ),
    nats: launch(options, 'nats', async (start) =>
      startNats({
        ...start,
        installation: await installNats(say),
        dataDir: join(layout.dataDir, 'nats'),
        ports: { client: ports.nats, monitor: ports.natsMonitor },
      }),
    ),
    objectStore: launch(options, 'object-store', async (start) =>
      startObjectStore({
        ...start,
        installation: await installObjectStore(say),
        dataDir: join(layout.dataDir, 'object-store'),
        ports: deriveObjectStorePorts(ports.s3),
        credentials: { accessKeyId: secrets.s3AccessKeyId, secretAccessKey: secrets.s3SecretAccessKey },
      }),
    ),
    triton: launch(options, 'triton', (start) => startLocalTriton(options, start)),
  }
}

type ProcessEnvironments = ReturnType<typeof buildEnvironments>['processes']

function startProcesses(options: StartPartsOptions, environments: ProcessEnvironments): Promise<void> {
  const { ports } = options
  const healthPorts = { api: ports.apiHealth, worker: ports.workerHealth, dispatcher: ports.dispatcherHealth }
  return settle(
    (['api', 'worker', 'dispatcher'] as const).map((name) =>
      launch(options, name, (start) =>
        startProcess({
          ...start,
          name,
          env: environments[name],
          healthPort: healthPorts[name],
          ...(name === 'api' && { port: ports.api }),
        }),
      ),
    ),
  )
}

async function launch(
  { layout, parts, say }: StartPartsOptions,
  part: PartName,
  start: (options: StartOptions) => Promise<RunningServer>,
): Promise<void> {
  if (!parts.has(part)) return say(`${part}: using the existing server`)
  const pidFile = pidFileOf(layout.runDir, part)
  const run = () => start({ lifetime: 'detached', logFile: join(layout.logDir, `${part}.log`), pidFile })
  const before = readLiveRecord(pidFile)
  if (!before) return void (await sayWhile(say, `starting ${part}`, run))
  const kept = (await run()).pid === before.pid
  say(`${part}: ${kept ? 'is running' : 'restarted because its settings or sources have changed'}`)
}

async function startLocalTriton({ layout, ports, say }: StartPartsOptions, start: StartOptions) {
  const installation = await installTriton(say)
  const repository = join(layout.localDir, 'models')
  const models = await prepareModelRepository({ source: modelsDir, target: repository, cores: availableParallelism() })
  for (const { name, config } of models) say(`model ${name}: configs/${config}.pbtxt`)
  const { tritonHttp: http, tritonGrpc: grpc, tritonMetrics: metrics } = ports
  const version = treeVersion(['models'])
  return startTriton({ ...start, installation, repository, version, ports: { http, grpc, metrics } })
}

/** Migrates the started database and creates a role per process; an existing database keeps one URL for all. */
async function prepareDatabase(env: NodeJS.ProcessEnv, { existing, secrets }: StartPartsOptions): Promise<void> {
  if (existing.databaseUrl === undefined) await migrateWithRoles(env.DATABASE_URL ?? '', secrets.rolePasswords)
}

async function ensureBucket(env: NodeJS.ProcessEnv): Promise<void> {
  const endpoint = env.S3_ENDPOINT ?? ''
  const bucket = openBucket({
    internalEndpoint: endpoint,
    publicEndpoint: endpoint,
    bucket: env.S3_BUCKET ?? '',
    region: env.S3_REGION ?? '',
    accessKeyId: env.S3_ACCESS_KEY_ID ?? '',
    secretAccessKey: env.S3_SECRET_ACCESS_KEY ?? '',
  })
  try {
    await bucket.ensure(AbortSignal.timeout(30_000))
  } finally {
    bucket.close()
  }
}

/** Waits for all and reports each error once. */
async function settle(promises: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(promises)
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const errors = new Set(reasons.flatMap((reason) => (reason instanceof AggregateError ? reason.errors : [reason])))
  if (errors.size > 0) throw new AggregateError(errors)
}

export async function migrateWithRoles(url: string, passwords: RolePasswords): Promise<void> {
  const logger = createLogger('local', 'warn', { write: () => undefined })
  const database = openDatabase({ url, poolMax: 1, logger, applicationName: 'matte-local' })
  try {
    await schemaAtStart(database, { logger, roles: [] }).start()
    await applyRoles(database.db, passwords)
  } finally {
    await database.stop()
  }
}
