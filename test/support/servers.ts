// The real servers behind the integration tests: one set shared by all files, started by global-setup.ts, and private
// ones for tests that stop, kill or wipe what they stand on.
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { RunningServer } from '@matte/local/lifecycle/server'
import { rootDir } from '@matte/local/paths'
import type { Say } from '@matte/local/say'
import { prepareModelRepository } from '@matte/local/servers/model-repository'
import { installNats, startNats } from '@matte/local/servers/nats'
import { type Credentials, installObjectStore, startObjectStore } from '@matte/local/servers/object-store'
import { installPostgres, type PostgresInstallation, startPostgres } from '@matte/local/servers/postgres'
import { installTriton, startTriton } from '@matte/local/servers/triton'
import { freePorts } from './free-ports.ts'
import { pickObjectStorePorts } from './object-store-ports.ts'

/** A server that a test may take down and bring back at the same address. */
export type OwnServer = {
  readonly url: string
  /** Clean stop; returns when the process is gone. */
  stop(): Promise<void>
  kill(signal: NodeJS.Signals): Promise<void>
  /** Starts it again on the same port with what its folder holds. */
  start(): Promise<void>
  /** Removes all that it has stored; stop it first. */
  wipe(): void
}

/** Where a server keeps its files, and what it says while it is fetched. */
export type Place = { readonly dir: string; readonly say: Say }

/** Durability is not what the tests look at, and a sync of each commit is most of their time. */
const fastPostgres = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '64MB',
  // In the data folder: a killed server would leave its files in /dev/shm.
  dynamic_shared_memory_type: 'mmap',
  // Three processes of ten connections for each of a few services at once, and the tests' own.
  max_connections: '300',
}

/** `settings` beyond those of every test, such as a library to load. */
export async function ownPostgres(
  place: Place,
  installation?: PostgresInstallation,
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnServer> {
  const installed = installation ?? (await installPostgres(place.say))
  const [port = 0] = await freePorts(1)
  const all = { ...fastPostgres, ...settings }
  return restartable(place, 'postgres', (files) =>
    startPostgres({ ...files, installation: installed, port, password: 'test', settings: all }),
  )
}

type NatsSettings = { readonly memoryMegabytes?: number; readonly config?: string }

export async function ownNats(place: Place, settings: NatsSettings = {}): Promise<OwnServer> {
  const installation = await installNats(place.say)
  const [client = 0, monitor = 0] = await freePorts(2)
  return restartable(place, 'nats', (files) =>
    startNats({ ...files, ...settings, installation, ports: { client, monitor } }),
  )
}

export async function ownStore(place: Place, credentials: Credentials): Promise<OwnServer> {
  const installation = await installObjectStore(place.say)
  const ports = await pickObjectStorePorts()
  return restartable(place, 'store', (files) => startObjectStore({ ...files, installation, ports, credentials }))
}

type TritonSettings = {
  readonly cores?: number
  /** Models are served as on a processor that can do this; by default as on this one. */
  readonly processor?: { readonly vnni: boolean; readonly amx: boolean }
  /** Whether the forms that OpenVINO runs come first there; true by default. */
  readonly openvino?: boolean | undefined
  /** A folder of models; ours by default. */
  readonly source?: string
}

/** `url` is `host:port` of its gRPC. */
export async function ownTriton(place: Place, settings: TritonSettings = {}): Promise<OwnServer> {
  const installation = await installTriton(place.say)
  const [http = 0, grpc = 0, metrics = 0] = await freePorts(3)
  const repository = join(place.dir, 'models')
  const source = join(rootDir, 'models')
  await prepareModelRepository({ source, target: repository, cores: availableParallelism(), ...settings })
  return restartable(place, 'triton', ({ dataDir: _none, ...files }) =>
    startTriton({ ...files, installation, repository, ports: { http, grpc, metrics }, exitTimeoutSeconds: 3 }),
  )
}

type Files = { readonly dataDir: string; readonly logFile: string; readonly lifetime: 'attached' }

async function restartable(
  { dir }: Place,
  name: string,
  startIt: (files: Files) => Promise<RunningServer>,
): Promise<OwnServer> {
  mkdirSync(dir, { recursive: true })
  chmodSync(dir, 0o755) // PostgreSQL runs as another user where this one is root
  const files: Files = { dataDir: join(dir, name), logFile: join(dir, `${name}.log`), lifetime: 'attached' }
  let server = await startIt(files)
  return {
    url: server.url,
    stop: () => server.stop(),
    kill: (signal) => server.kill(signal),
    start: async () => {
      server = await startIt(files)
    },
    wipe: () => rmSync(files.dataDir, { recursive: true, force: true }),
  }
}
