// Schemathesis sends an API what its own OpenAPI document allows and forbids, and judges the answers by it. A tool of
// the tests, not of the service; it is fetched when a test first asks for it.
import { join } from 'node:path'
import { installPackages } from '@matte/local/install/install-packages'
import { rootDir } from '@matte/local/paths'
import type { Say } from '@matte/local/say'

export type Program = {
  readonly command: string
  /** Come before the program's own arguments. */
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

/** Fetches it unless it is there, wheels with pinned hashes only. */
export async function installSchemathesis(say: Say): Promise<Program> {
  const requirements = join(rootDir, 'test/support/schemathesis/requirements.txt')
  const saying = 'fetching Schemathesis (13 MB, 60 MB on disk)'
  const { command, dir } = await installPackages({ name: 'schemathesis', requirements, saying }, say)
  return { command, args: ['-m', 'schemathesis.cli'], env: { PYTHONPATH: dir } }
}
