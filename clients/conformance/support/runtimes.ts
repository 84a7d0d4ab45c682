// Other runtimes of JavaScript, from packages that contain only a program. Each is fetched once; npm runs no
// scripts.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { partsDir } from '@matte/local/paths'
import { reportSkip } from '@matte/test/support/report/skips.ts'
import { runProgram } from './program.ts'

const packages = {
  Deno: { name: '@deno/linux-x64-glibc', version: '2.9.6', program: 'deno' },
  Bun: { name: '@oven/bun-linux-x64', version: '1.4.5', program: 'bin/bun' },
  workerd: { name: '@cloudflare/workerd-linux-64', version: '1.20261117.1', program: 'bin/workerd' },
} as const

/** Path of the program. Without it the tests whose names contain the runtime are reported as skipped. */
export async function findRuntime(runtime: keyof typeof packages): Promise<string | undefined> {
  const { name, version, program } = packages[runtime]
  const dir = join(partsDir, `${runtime.toLowerCase()}-${version}`)
  const path = join(dir, 'node_modules', name, program)
  if (existsSync(path)) return path
  const partial = `${dir}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  try {
    await runProgram('npm', ['install', '--prefix', partial, ...flags, `${name}@${version}`], { cwd: partial })
    rmSync(dir, { recursive: true, force: true })
    renameSync(partial, dir)
    return path
  } catch (error) {
    const [reason = ''] = String(error).split('\n').slice(1)
    reportSkip({ matching: runtime, reason: `npm cannot fetch ${name}: ${reason || error}` })
    return undefined
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}
