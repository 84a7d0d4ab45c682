// Clients of remove.bg as their registries have them, fetched by the first test that needs them. They are no
// dependencies of Matte, so the lock file does not name them.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPart } from '@matte/local/install/install-part'
import { findPython } from '@matte/local/install/python-packages'
import { runCommand } from '@matte/local/install/run-command'

const npmPackage = 'remove.bg@1.3.0'

/** The folder whose node_modules has npm's `remove.bg`. */
export const installNpmClient = (): Promise<string> =>
  installPart(`foreign-${npmPackage}`, async (aside) => {
    const flags = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--silent']
    await runCommand('npm', ['install', '--prefix', aside, ...flags, npmPackage])
  })

export type PythonClient = { readonly python: string; readonly path: string }

/** The interpreter and the PYTHONPATH of PyPI's `removebg`, which has no wheel. */
export async function installPythonClient(): Promise<PythonClient> {
  const requirements = join(import.meta.dirname, 'requirements.txt')
  const { command: python, version } = await findPython()
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8)
  const path = await installPart(`foreign-removebg-py${version}-${digest}`, async (aside) => {
    const flags = ['-q', '--disable-pip-version-check', '--no-input', '--no-deps', '--require-hashes']
    const args = ['-m', 'pip', 'install', ...flags, '--target', aside, '-r', requirements]
    await runCommand(python, args, { env: { ...process.env, PIP_USER: '0' } })
  })
  return { python, path }
}
