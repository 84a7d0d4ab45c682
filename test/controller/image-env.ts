// Memory settings of the container image, with jemalloc if this machine has it.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'

/** Undefined without libjemalloc2. */
const jemalloc = ['x86_64-linux-gnu', 'aarch64-linux-gnu', '.']
  .map((folder) => join('/usr/lib', folder, 'libjemalloc.so.2'))
  .find((file) => existsSync(file))

/** Variables of the image's ENV except PATH, and its Node flags; undefined without jemalloc. */
export function imageEnv(): Record<string, string> | undefined {
  if (jemalloc === undefined) return undefined
  const dockerfile = readFileSync(join(rootDir, 'Dockerfile'), 'utf8')
  const instruction = [...dockerfile.matchAll(/^ENV (?:.*\\\n)*.*$/gm)]
    .map(String)
    .find((text) => text.includes('MALLOC_CONF='))
  if (instruction === undefined) throw new Error('the Dockerfile has no ENV with MALLOC_CONF')
  const values = [...instruction.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])
  const { PATH: _, ...own } = Object.fromEntries(values) as Record<string, string>
  const [, flags] = /else flags=(\S+); fi/.exec(readFileSync(join(rootDir, 'charts/image/matte'), 'utf8')) ?? []
  if (flags === undefined) throw new Error('charts/image/matte gives a controller no flags')
  return { ...own, LD_PRELOAD: jemalloc, NODE_OPTIONS: flags }
}
