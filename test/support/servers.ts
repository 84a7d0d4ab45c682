// Real servers behind the integration tests: one set shared by all files, started by global-setup.ts, and private ones
// for tests that stop, kill or wipe their servers.
import { chmodSync, mkdirSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { RunningServer } from '@matte/local/lifecycle/server'
import { prepareModelRepository } from '@matte/local/models/model-repository'
import { rootDir } from '@matte/local/paths'
import type { Say } from '@matte/local/say'
import { installNats, startNats } from '@matte/local/servers/nats'
import { type Credentials, installObjectStore, startObjectStore } from '@matte/local/servers/object-store'
import { installPostgres, type PostgresInstallation, startPostgres } from '@matte/local/servers/postgres'
import { installTriton, startTriton } from '@matte/local/servers/triton'
import { freePorts } from './free-ports.ts'
import { pickObjectStorePorts } from './object-store-ports.ts'

/** A server that a test may stop and restart at the same address. */
export type OwnServer = {
  readonly url: string
  /** Clean stop; returns after the exit of the process. */
  stop(): Promise<void>
  kill(signal: NodeJS.Signals): Promise<void>
  /** Starts it again on the same port with the contents of its folder. */
  start(): Promise<void>
  /** Removes all stored data; stop it first. */
  wipe(): void
}

/** Folder for a server's files, and a callback for messages while it is fetched. */
export type Place = { readonly dir: string; readonly say: Say }

/** Tests do not depend on durability, and a sync per commit takes most of their time. */
const fastPostgres = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '64MB',
  // In the data folder, because a killed server would leave its files in /dev/shm.
  dynamic_shared_memory_type: 'mmap',
  // Three processes with ten connections each for several services at once, and those of the tests.
  max_connections: '300',
}

/** Additional `settings`, such as a library to load. */
export async function ownPostgres(
  place: Place,
  installation?: PostgresInstallation,
  settings: Readonly<Record<string, string>> = {},
): Promise<OwnServer> {
  const installed = installation ?? (await installPostgres())
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
  /** Serves models as on a processor with these instructions; default: this processor. */
  readonly processor?: { readonly vnni: boolean; readonly amx: boolean }
  /** Whether the forms that OpenVINO runs come first; true by default. */
  readonly openvino?: boolean | undefined
  /** Folder of models; default: this repository's. */
  readonly source?: string
}

/** `url` is `host:port` of its gRPC server. */
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
  chmodSync(dir, 0o755) // PostgreSQL runs as another user if this one is root
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
