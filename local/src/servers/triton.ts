// Inference server on the CPU; `local/triton/install.sh` and `serve.sh` install and run it.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPart } from '../install/install-part.ts'
import { findPython } from '../install/python-packages.ts'
import { runCommand } from '../install/run-command.ts'
import { type RunningServer, type StartOptions, startServer } from '../lifecycle/server.ts'
import { answers } from '../lifecycle/wait.ts'
import { rootDir } from '../paths.ts'
import { type Say, sayWhile } from '../say.ts'
import { hugePageEnv } from './runtime-env.ts'

const scripts = join(rootDir, 'local/triton')
/** Server version in the wheel of install.sh; part of the folder's name. */
const version = '2.51.0'

type TritonInstallation = { readonly dir: string }

export async function installTriton(say: Say): Promise<TritonInstallation> {
  const python = await findPython()
  // Named by all inputs, so a changed script or another Python makes a new installation.
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
  readonly repository: string
  /** Version of the models; a change restarts the server. */
  readonly version?: string
  readonly ports: TritonPorts
  /** Grace period for requests in flight, above the longest inference. */
  readonly exitTimeoutSeconds?: number
}

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
  // Huge pages make inference 4 to 5 % faster (`models/u2netp/README.md`).
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
