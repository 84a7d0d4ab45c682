// Our own processes, started from source as a cluster starts them from the image.
import { join } from 'node:path'
import { type RunningServer, type StartOptions, startServer } from '../lifecycle/server.ts'
import { answers } from '../lifecycle/wait.ts'
import { rootDir } from '../paths.ts'
import { hugePageFlags } from './huge-pages.ts'
import { runtimeEnv } from './runtime-env.ts'
import { treeVersion } from './tree-version.ts'

export type ProcessName = 'api' | 'worker' | 'operator' | 'dispatcher'

/** Folder of each process, and the command that its program takes where the folder has two. */
const programs: Readonly<Record<ProcessName, { readonly folder: string; readonly command?: string }>> = {
  api: { folder: 'api' },
  worker: { folder: 'controller', command: 'worker' },
  operator: { folder: 'controller', command: 'operator' },
  dispatcher: { folder: 'dispatcher' },
}

/** Node 24, which runs the sources unbuilt, whatever `node` the caller has. */
export const nodePath = join(rootDir, 'node_modules/.bin/node')

type ProcessOptions = StartOptions & {
  readonly name: ProcessName
  readonly env: NodeJS.ProcessEnv
  /** Where `/readyz` is. */
  readonly healthPort: number
  /** Where the API answers, for the process that has one. */
  readonly port?: number
}

/** Ready when `/readyz` says so. `url` is the API's origin, or that of the health port. */
export function startProcess({ name, env, healthPort, port, ...start }: ProcessOptions): Promise<RunningServer> {
  const { folder, command } = programs[name]
  const health = `http://127.0.0.1:${healthPort}`
  return startServer({
    ...start,
    name,
    command: nodePath,
    args: [...hugePageFlags, join(rootDir, folder, 'src/main.ts'), ...(command ? [command] : [])],
    cwd: rootDir,
    env: { ...runtimeEnv(), ...env },
    version: treeVersion([`${folder}/src`, 'api/core/src', 'protos']),
    url: port === undefined ? health : `http://127.0.0.1:${port}`,
    ports: port === undefined ? [healthPort] : [port, healthPort],
    ready: () => answers(`${health}/readyz`),
    // Above the 25 s that each process gives its own work to finish.
    stopTimeoutMs: 30_000,
  })
}
