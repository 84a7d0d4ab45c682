// Builds the clients as their registries take them: each into its folder's dist/.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const builds: readonly (readonly [command: string, ...args: string[]])[] = [
  ['node', 'typescript/build.ts'],
  ['node', 'cli/build.ts'],
  ['node', 'python/check.ts', 'build'],
]

for (const [command, ...args] of builds) {
  process.stdout.write(`${args.join(' ')}\n`)
  const { status } = spawnSync(command, args, { cwd: join(import.meta.dirname), stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
