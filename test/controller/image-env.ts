// What the container image sets for the C libraries of its processes, with jemalloc where this machine has it.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'

/** In the folder of this machine's architecture; undefined where libjemalloc2 is not installed. */
const jemalloc = ['x86_64-linux-gnu', 'aarch64-linux-gnu', '.']
  .map((folder) => join('/usr/lib', folder, 'libjemalloc.so.2'))
  .find((file) => existsSync(file))

/** The variables of the Dockerfile's ENV; undefined without jemalloc. */
export function imageEnv(): Record<string, string> | undefined {
  if (jemalloc === undefined) return undefined
  const dockerfile = readFileSync(join(rootDir, 'Dockerfile'), 'utf8')
  const [, lines = ''] = /^ENV (NODE_ENV(?:.*\\\n)*.*)$/m.exec(dockerfile) ?? []
  const values = [...lines.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])
  return { ...Object.fromEntries(values), LD_PRELOAD: jemalloc }
}
