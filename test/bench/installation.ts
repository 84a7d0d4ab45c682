// A separate installation for the benchmark, started by the program behind `make up`.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '@matte/local/install/run-command'
import { rootDir } from '@matte/local/paths'
import { sayToTerminal } from '@matte/local/say'
import { nodePath } from '@matte/local/servers/process'
import { freePorts } from '../support/free-ports.ts'
import { pickObjectStorePorts } from '../support/object-store-ports.ts'
import { ownTriton } from '../support/servers.ts'

export type Installation = {
  readonly origin: string
  readonly apiKey: string
  /** `host:port` of Triton's gRPC. */
  readonly tritonAddress: string
  /** Environment of the processes, with the store's address and keys. */
  readonly env: Readonly<Record<string, string>>
  /** Pid files, for `readLiveRecord`. */
  readonly runDir: string
  remove(): Promise<void>
}

const portVariables = [
  'MATTE_PORT',
  'MATTE_API_HEALTH_PORT',
  'MATTE_WORKER_HEALTH_PORT',
  'MATTE_DISPATCHER_HEALTH_PORT',
  'MATTE_POSTGRES_PORT',
  'MATTE_NATS_PORT',
  'MATTE_NATS_MONITOR_PORT',
  'MATTE_S3_PORT',
  'MATTE_TRITON_HTTP_PORT',
  'MATTE_TRITON_GRPC_PORT',
  'MATTE_TRITON_METRICS_PORT',
] as const

type InstallationOptions = {
  /** Serves fp32 on any processor; default: as `make up`. */
  readonly fp32?: boolean
  /** `host:port` of gRPC of an existing server. */
  readonly tritonUrl?: string
}

export async function createInstallation(options: InstallationOptions = {}): Promise<Installation> {
  // Outside the temporary folder: in memory, a commit costs no sync.
  const dir = await mkdtemp(join(rootDir, '.local/bench-'))
  const free = await freePorts(portVariables.length)
  const ports = {
    ...Object.fromEntries(portVariables.map((name, index) => [name, String(free[index])])),
    MATTE_S3_PORT: String((await pickObjectStorePorts()).s3), // a port whose derived ports are free as well
  } as Record<(typeof portVariables)[number], string>
  const place = { dir: join(dir, 'triton-fp32'), say: sayToTerminal }
  const triton = options.fp32 ? await ownTriton(place, { processor: { vnni: false, amx: false } }) : undefined
  const tritonUrl = options.tritonUrl ?? triton?.url
  const tritonAddress = tritonUrl ?? `127.0.0.1:${ports.MATTE_TRITON_GRPC_PORT}`
  const { PATH, HOME } = process.env
  const env = {
    ...{ PATH, HOME, MATTE_LOCAL_DIR: dir, LOG_LEVEL: 'warn', ...ports },
    ...(tritonUrl && { TRITON_URL: tritonUrl }),
  }
  const run = (program: string) => runCommand(nodePath, [join(rootDir, 'local/src', program)], { env })
  const remove = async (): Promise<void> => {
    await run('down.ts')
    await triton?.stop()
    await rm(dir, { recursive: true, force: true })
  }
  try {
    await run('up.ts')
    const { MATTE_API_KEY: apiKey = '' } = parseLines(await readFile(join(dir, 'env'), 'utf8'))
    return {
      origin: `http://127.0.0.1:${ports.MATTE_PORT}`,
      apiKey,
      tritonAddress,
      env: JSON.parse(await readFile(join(dir, 'common-env.json'), 'utf8')),
      runDir: join(dir, 'run'),
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

const parseLines = (text: string): Record<string, string> =>
  Object.fromEntries(text.split('\n').flatMap((line) => (line.includes('=') ? [line.split(/=(.*)/, 2)] : [])))
