// Installs and starts everything in the right order: the four servers at once, each as soon as it is fetched; our
// processes as soon as database, messages and store are there, while the inference server may still load its model.
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { openBucket } from '@matte/core/storage/bucket'
import { buildEnvironments, type Env, type ExistingServers } from './environment.ts'
import { prepareModelRepository } from './model-repository.ts'
import { installNats, startNats } from './nats.ts'
import { deriveObjectStorePorts, installObjectStore, startObjectStore } from './object-store.ts'
import { type Layout, rootDir } from './paths.ts'
import { pidFileOf, readLiveRecord } from './pid-file.ts'
import type { PartName, Ports } from './ports.ts'
import { installPostgres, startPostgres } from './postgres.ts'
import { startProcess } from './process.ts'
import { type Say, sayWhile } from './say.ts'
import { type Secrets, writePrivately } from './secrets.ts'
import type { RunningServer, StartOptions } from './server.ts'
import { installTriton, startTriton } from './triton.ts'

export type StartPartsOptions = {
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
  const { layout, ports, parts, secrets, say } = options
  const environments = buildEnvironments(options)
  const start = (part: PartName): StartOptions => ({
    lifetime: 'detached',
    logFile: join(layout.logDir, `${part}.log`),
    pidFile: pidFileOf(layout.runDir, part),
  })
  const dataDir = (part: PartName): string => join(layout.dataDir, part)
  const launch = async (part: PartName, act: () => Promise<RunningServer>): Promise<void> => {
    if (!parts.has(part)) return say(`${part}: taking the existing server`)
    const before = readLiveRecord(pidFileOf(layout.runDir, part))
    if (!before) return void (await sayWhile(say, `starting ${part}`, act))
    const kept = (await act()).pid === before.pid
    say(`${part}: ${kept ? 'is running' : 'started again, since its settings or its sources have changed'}`)
  }
  const servers = {
    postgres: launch('postgres', async () =>
      startPostgres({
        ...start('postgres'),
        installation: await installPostgres(say),
        dataDir: dataDir('postgres'),
        port: ports.postgres,
        password: secrets.databasePassword,
      }),
    ),
    nats: launch('nats', async () =>
      startNats({
        ...start('nats'),
        installation: await installNats(say),
        dataDir: dataDir('nats'),
        ports: { client: ports.nats, monitor: ports.natsMonitor },
      }),
    ),
    objectStore: launch('object-store', async () =>
      startObjectStore({
        ...start('object-store'),
        installation: await installObjectStore(say),
        dataDir: dataDir('object-store'),
        ports: deriveObjectStorePorts(ports.s3),
        credentials: { accessKeyId: secrets.s3AccessKeyId, secretAccessKey: secrets.s3SecretAccessKey },
      }),
    ),
    triton: launch('triton', () => startLocalTriton(options, start('triton'))),
  }
  const processes = Promise.all([servers.postgres, servers.nats, servers.objectStore]).then(async () => {
    await ensureBucket(environments.common)
    const healthPorts = { api: ports.apiHealth, controller: ports.controllerHealth, dispatcher: ports.dispatcherHealth }
    await settle(
      (['api', 'controller', 'dispatcher'] as const).map((name) =>
        launch(name, () =>
          startProcess({
            ...start(name),
            name,
            env: environments.processes[name],
            healthPort: healthPorts[name],
            ...(name === 'api' && { port: ports.api }),
          }),
        ),
      ),
    )
  })
  writePrivately(layout.commonEnvFile, `${JSON.stringify(environments.common, null, 2)}\n`)
  await settle([...Object.values(servers), processes])
  return { common: environments.common, apiUrl: `http://127.0.0.1:${ports.api}` }
}

async function startLocalTriton({ layout, ports, say }: StartPartsOptions, start: StartOptions) {
  const installation = await installTriton(say)
  const repository = join(layout.localDir, 'models')
  await prepareModelRepository({
    source: join(rootDir, 'models'),
    target: repository,
    cores: availableParallelism(),
  })
  const { tritonHttp: http, tritonGrpc: grpc, tritonMetrics: metrics } = ports
  return startTriton({ ...start, installation, repository, ports: { http, grpc, metrics } })
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

/** Waits for all, also when one fails, so that nothing goes on unseen; the same fault is told once. */
async function settle(promises: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(promises)
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  const faults = new Set(reasons.flatMap((reason) => (reason instanceof AggregateError ? reason.errors : [reason])))
  if (faults.size > 0) throw new AggregateError(faults)
}
