// Schemathesis sends an API what its own OpenAPI document allows and forbids, and judges the answers by it. A tool of
// the tests, not of the service; it is fetched when a test first asks for it.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPart } from '@matte/local/install/install-part'
import { findPython } from '@matte/local/install/python'
import { runCommand } from '@matte/local/install/run-command'
import { rootDir } from '@matte/local/paths'
import { type Say, sayWhile } from '@matte/local/say'

const requirements = join(rootDir, 'test/support/schemathesis/requirements.txt')

export type Program = {
  readonly command: string
  /** Come before the program's own arguments. */
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

/**
 * Fetches it unless it is there, wheels with pinned hashes only. Put into a folder and not into a virtual environment:
 * that would keep the path it was made at, and needs a package that Debian's Python comes without.
 */
export async function installSchemathesis(say: Say): Promise<Program> {
  const python = await findPython()
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8)
  const dir = await installPart(`schemathesis-py${python.version}-${digest}`, (aside) =>
    sayWhile(say, 'fetching Schemathesis (13 MB, 60 MB on disk)', async () => {
      const flags = ['--disable-pip-version-check', '--no-input', '--no-deps', '--only-binary=:all:', '--no-compile']
      const args = ['-m', 'pip', 'install', '-q', ...flags, '--require-hashes', '--target', aside, '-r', requirements]
      // A user's own pip settings may say "install for the user", which pip refuses together with --target.
      await runCommand(python.command, args, { env: { ...process.env, PIP_USER: '0' } })
    }),
  )
  return { command: python.command, args: ['-m', 'schemathesis.cli'], env: { PYTHONPATH: dir } }
}
