// A second real S3 store for the conformance tests. Built from source if the machine has Go.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { installPart } from '@matte/local/install/install-part'
import { runCommand } from '@matte/local/install/run-command'
import { type RunningServer, type StartOptions, startServer } from '@matte/local/lifecycle/server'
import { answers } from '@matte/local/lifecycle/wait'
import { type Say, sayWhile } from '@matte/local/say'
import type { Credentials } from '@matte/local/servers/object-store'
import { reportSkip } from './report/skips.ts'

const module = 'github.com/versity/versitygw/cmd/versitygw'
const version = 'v1.8.0'

export type VersitygwInstallation = { readonly program: string }

/** Undefined, with a reported reason, if Go is missing or cannot build the program. */
export async function installVersitygw(say: Say): Promise<VersitygwInstallation | undefined> {
  try {
    const dir = await installPart(`versitygw-${version}`, async (aside) => {
      await runCommand('go', ['version'])
      // The module proxy's checksum database verifies the pinned version.
      const env = { ...process.env, GOBIN: aside, GOFLAGS: '-trimpath', CGO_ENABLED: '0' }
      await sayWhile(say, `building versitygw ${version} (some minutes, once)`, () =>
        runCommand('go', ['install', `${module}@${version}`], { env }),
      )
    })
    return { program: join(dir, 'versitygw') }
  } catch (error) {
    const [first] = (error instanceof Error ? error.message : String(error)).split('\n')
    reportSkip({ matching: 'versitygw', reason: `versitygw is not available: ${first}` })
    return undefined
  }
}

export type VersitygwOptions = StartOptions & {
  readonly installation: VersitygwInstallation
  readonly dataDir: string
  readonly port: number
  readonly credentials: Credentials
}

/** Ready when the S3 port responds. `url` is the S3 endpoint (path style). */
export function startVersitygw(options: VersitygwOptions): Promise<RunningServer> {
  const { installation, dataDir, port, credentials, ...start } = options
  const objects = join(dataDir, 'objects')
  const metadata = join(dataDir, 'metadata') // files for metadata: not every file system has extended attributes
  for (const dir of [objects, metadata]) mkdirSync(dir, { recursive: true })
  const url = `http://127.0.0.1:${port}`
  return startServer({
    ...start,
    name: 'versitygw',
    command: installation.program,
    args: ['--port', `127.0.0.1:${port}`, 'posix', '--sidecar', metadata, objects],
    env: {
      PATH: process.env.PATH,
      HOME: dataDir,
      ROOT_ACCESS_KEY: credentials.accessKeyId,
      ROOT_SECRET_KEY: credentials.secretAccessKey,
    },
    url,
    ports: [port],
    ready: () => answers(url, [200, 403]),
  })
}
