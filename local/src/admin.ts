// `make admin ARGS="…"`: runs matte-admin against the database of the last `make up`.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readLayout, rootDir } from './paths.ts'
import { nodePath } from './servers/process.ts'

const { commonEnvFile } = readLayout(process.env)
if (existsSync(commonEnvFile)) {
  const env = JSON.parse(readFileSync(commonEnvFile, 'utf8')) as NodeJS.ProcessEnv
  const args = [join(rootDir, 'api/src/admin/main.ts'), ...process.argv.slice(2)]
  const { status } = spawnSync(nodePath, args, { stdio: 'inherit', env: { ...process.env, ...env } })
  process.exitCode = status ?? 1
} else {
  process.stderr.write('make admin: no local service exists yet. Run make up first.\n')
  process.exitCode = 1
}
