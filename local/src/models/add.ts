// `make model-add ARGS="…"`: runs models/add.py with its packages.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { rootDir } from '../paths.ts'
import { sayToTerminal } from '../say.ts'
import { installModelTools } from './model-tools.ts'

const { command, env } = await installModelTools(sayToTerminal)
const { status } = spawnSync(command, [join(rootDir, 'models/add.py'), ...process.argv.slice(2)], {
  stdio: 'inherit',
  env,
})
process.exitCode = status ?? 1
