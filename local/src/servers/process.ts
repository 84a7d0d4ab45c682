import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningServer, type StartOptions, startServer } from '../lifecycle/server.ts'
import { answers } from '../lifecycle/wait.ts'
import { rootDir } from '../paths.ts'
import { hugePageFlags, runtimeEnv } from './runtime-env.ts'

export type ProcessName = 'api' | 'worker' | 'operator' | 'dispatcher'

const programs: Readonly<Record<ProcessName, { readonly folder: string; readonly command?: string }>> = {
  api: { folder: 'api' },
  worker: { folder: 'controller', command: 'worker' },
  operator: { folder: 'controller', command: 'operator' },
  dispatcher: { folder: 'dispatcher' },
}

/** Node 24, whatever `node` the caller has. */
export const nodePath = join(rootDir, 'node_modules/.bin/node')

type ProcessOptions = StartOptions & {
  readonly name: ProcessName
  readonly env: NodeJS.ProcessEnv
  readonly healthPort: number
  readonly port?: number
}

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
    version: treeVersion([
      `${folder}/src`,
      'api/core/src',
      'api/people/src',
      'protos',
      ...(name === 'api' ? builtPages() : []),
    ]),
    url: port === undefined ? health : `http://127.0.0.1:${port}`,
    ports: port === undefined ? [healthPort] : [port, healthPort],
    ready: () => answers(`${health}/readyz`),
    // Above the 25 s that a process gives its work to finish.
    stopTimeoutMs: 30_000,
  })
}

/** The API lists their files at start, so a new build needs a new process. */
const builtPages = (): string[] =>
  ['api/console/dist', 'docs/site/dist'].filter((folder) => existsSync(join(rootDir, folder)))

export function treeVersion(folders: readonly string[]): string {
  const files = folders.flatMap((folder) => {
    const below = readdirSync(join(rootDir, folder), { recursive: true, withFileTypes: true })
    return below.filter((entry) => entry.isFile())
  })
  const newest = Math.max(...files.map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs))
  return `${files.length} ${newest}`
}
