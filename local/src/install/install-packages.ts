import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Say, sayWhile } from '../say.ts'
import { installPart } from './install-part.ts'
import { findPython } from './python.ts'
import { runCommand } from './run-command.ts'

type Packages = {
  /** First part of the folder's name. */
  readonly name: string
  /** A file of pip's, with a hash for each wheel. */
  readonly requirements: string
  /** Such as `fetching Schemathesis (13 MB)`. */
  readonly saying: string
}

/**
 * Fetches the packages unless they are there: the interpreter, and the folder to be its PYTHONPATH. A folder and not a
 * virtual environment: that would keep the path it was made at, and needs a package that Debian's Python comes without.
 */
export async function installPackages({ name, requirements, saying }: Packages, say: Say) {
  const { command, version } = await findPython()
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8)
  const dir = await installPart(`${name}-py${version}-${digest}`, (aside) =>
    sayWhile(say, saying, async () => {
      const flags = ['--disable-pip-version-check', '--no-input', '--no-deps', '--only-binary=:all:', '--no-compile']
      const args = ['-m', 'pip', 'install', '-q', ...flags, '--require-hashes', '--target', aside, '-r', requirements]
      // A user's own pip settings may say "install for the user", which pip refuses together with --target.
      await runCommand(command, args, { env: { ...process.env, PIP_USER: '0' } })
    }),
  )
  return { command, dir }
}
