// Schemathesis sends requests that the API's OpenAPI document allows or forbids, and checks the responses. Only tests
// use it; the first of them fetches it.
import { join } from 'node:path'
import { installPackages } from '@matte/local/install/python-packages'
import { rootDir } from '@matte/local/paths'
import type { Say } from '@matte/local/say'

export type Program = {
  readonly command: string
  /** Arguments before those of the program. */
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

/** Fetches it if missing, from wheels with pinned hashes. */
export async function installSchemathesis(say: Say): Promise<Program> {
  const requirements = join(rootDir, 'test/support/schemathesis/requirements.txt')
  const saying = 'fetching Schemathesis (13 MB, 60 MB on disk)'
  const { command, dir } = await installPackages({ name: 'schemathesis', requirements, saying }, say)
  return { command, args: ['-m', 'schemathesis.cli'], env: { PYTHONPATH: dir } }
}
