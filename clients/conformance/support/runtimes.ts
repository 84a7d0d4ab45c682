// Other runtimes of JavaScript, from packages that contain only a program. Each is fetched once; npm runs no
// scripts.
import { join } from 'node:path'
import { installPart } from '@matte/local/install/install-part'
import { runCommand } from '@matte/local/install/run-command'
import { reportSkip } from '@matte/test/support/report/skips.ts'

const packages = {
  Deno: { name: '@deno/linux-x64-glibc', version: '2.9.6', program: 'deno' },
  Bun: { name: '@oven/bun-linux-x64', version: '1.4.5', program: 'bin/bun' },
  workerd: { name: '@cloudflare/workerd-linux-64', version: '1.20261117.1', program: 'bin/workerd' },
} as const

const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']

/** Path of the program. Without it the tests whose names contain the runtime are reported as skipped. */
export async function findRuntime(runtime: keyof typeof packages): Promise<string | undefined> {
  const { name, version, program } = packages[runtime]
  try {
    const dir = await installPart(`${runtime.toLowerCase()}-${version}`, async (aside) => {
      await runCommand('npm', ['install', '--prefix', aside, ...flags, `${name}@${version}`], { cwd: aside })
    })
    return join(dir, 'node_modules', name, program)
  } catch (error) {
    reportSkip({ matching: runtime, reason: `npm cannot fetch ${name}: ${String(error).split('\n', 2).join(' ')}` })
    return undefined
  }
}
