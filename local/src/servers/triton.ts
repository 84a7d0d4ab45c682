// The real inference server on the CPU. `local/triton/install.sh` and `serve.sh` know how; here is when and with what.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPart } from '../install/install-part.ts'
import { findPython } from '../install/python.ts'
import { runCommand } from '../install/run-command.ts'
import { type RunningServer, type StartOptions, startServer } from '../lifecycle/server.ts'
import { answers } from '../lifecycle/wait.ts'
import { rootDir } from '../paths.ts'
import { type Say, sayWhile } from '../say.ts'
import { hugePageEnv } from './huge-pages.ts'

const scripts = join(rootDir, 'local/triton')
/** The server's version inside the wheel that install.sh names; part of the folder's name. */
const version = '2.51.0'

type TritonInstallation = { readonly dir: string }

export async function installTriton(say: Say): Promise<TritonInstallation> {
  const python = await findPython()
  // The name holds all that shapes the result, so that a changed script or another Python makes a new installation.
  const name = `triton-${version}-py${python.version}-${digestOf(scripts)}`
  const dir = await installPart(name, async (aside) => {
    await sayWhile(say, `fetching the inference server ${version} (160 MB, 340 MB on disk)`, () =>
      runCommand(join(scripts, 'install.sh'), [aside], { env: { ...process.env, PYTHON: python.command } }),
    )
  })
  return { dir }
}

type TritonPorts = { readonly http: number; readonly grpc: number; readonly metrics: number }

type TritonOptions = StartOptions & {
  readonly installation: TritonInstallation
  /** A model repository ready to serve, one folder a model. */
  readonly repository: string
  /** Of the models: a server that runs is kept only while it is the same. */
  readonly version?: string
  readonly ports: TritonPorts
  /** How long a stop waits for requests in flight; above the longest execution. */
  readonly exitTimeoutSeconds?: number
}

/** Ready when the server and every model of the repository are. `url` is `host:port` of its gRPC. */
export function startTriton(options: TritonOptions): Promise<RunningServer> {
  const { installation, repository, ports, exitTimeoutSeconds = 20, ...start } = options
  const http = `http://127.0.0.1:${ports.http}`
  const models = readdirSync(repository, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const paths = ['/v2/health/ready', ...models.map(({ name }) => `/v2/models/${name}/ready`)]
  return startServer({
    ...start,
    name: 'triton',
    command: join(scripts, 'serve.sh'),
    args: [installation.dir, repository],
    env: {
      ...environment(),
      ADDRESS: '127.0.0.1',
      HTTP_PORT: String(ports.http),
      GRPC_PORT: String(ports.grpc),
      METRICS_PORT: String(ports.metrics),
      EXIT_TIMEOUT: String(exitTimeoutSeconds),
    },
    url: `127.0.0.1:${ports.grpc}`,
    ports: Object.values(ports),
    ready: async () => (await Promise.all(paths.map((path) => answers(http + path)))).every(Boolean),
    stopTimeoutMs: (exitTimeoutSeconds + 5) * 1_000,
  })
}

function environment(): NodeJS.ProcessEnv {
  const { PATH, HOME, LD_LIBRARY_PATH } = process.env
  // The model reads and writes 250 MB for each image: 4 to 5 % faster, in no more memory (`models/u2netp/README.md`).
  return { PATH, HOME, ...hugePageEnv(), ...(LD_LIBRARY_PATH && { LD_LIBRARY_PATH }) }
}

function digestOf(dir: string): string {
  const hash = createHash('sha256')
  const files = readdirSync(dir, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile())
  for (const path of files.map((file) => join(file.parentPath, file.name)).sort()) {
    hash.update(path.slice(dir.length)).update(readFileSync(path))
  }
  return hash.digest('hex').slice(0, 8)
}
