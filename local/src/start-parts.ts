// Installs and starts everything in the right order: the four servers at once, each as soon as it is fetched; our
// processes as soon as database, messages and store are there, while the inference server may still load its model.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { openBucket } from '@matte/core/storage/bucket'
import { buildEnvironments, type Env, type ExistingServers } from './environment.ts'
import { pidFileOf, readLiveRecord } from './lifecycle/pid-file.ts'
import type { RunningServer, StartOptions } from './lifecycle/server.ts'
import { readListedModels } from './models/listed-models.ts'
import { type Layout, rootDir } from './paths.ts'
import { deriveObjectStorePorts } from './ports/object-store-ports.ts'
import type { PartName, Ports } from './ports/ports.ts'
import { type Say, sayWhile } from './say.ts'
import { type Secrets, writePrivately } from './secrets.ts'
import { migrateWithRoles } from './servers/database-roles.ts'
import { prepareModelRepository } from './servers/model-repository.ts'
import { installNats, startNats } from './servers/nats.ts'
import { installObjectStore, startObjectStore } from './servers/object-store.ts'
import { installPostgres, startPostgres } from './servers/postgres.ts'
import { startProcess } from './servers/process.ts'
import { treeVersion } from './servers/tree-version.ts'
import { installTriton, startTriton } from './servers/triton.ts'

const modelsDir = join(rootDir, 'models')

type StartPartsOptions = {
  readonly layout: Layout
  readonly ports: Ports
  readonly existing: ExistingServers
  /** What is to be started; the rest exists. */
  readonly parts: ReadonlySet<PartName>
  readonly secrets: Secrets
  readonly given: Env
  readonly say: Say
}

/** @throws AggregateError with one error for each part that could not be started; the others keep running */
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
        installation: await installPostgres(say),
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

/** Starts a part unless it exists already, and prints what became of it. */
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
  say(`${part}: ${kept ? 'is running' : 'restarted, since its settings or its sources have changed'}`)
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

/** The schema, and in the started server a role for each process; one that exists keeps one URL for all. */
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

/** Waits for all, also when one fails, so that nothing continues unseen; the same error is reported once. */
async function settle(promises: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(promises)
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const errors = new Set(reasons.flatMap((reason) => (reason instanceof AggregateError ? reason.errors : [reason])))
  if (errors.size > 0) throw new AggregateError(errors)
}
