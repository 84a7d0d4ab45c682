// Tells `make up` whether the built site is older than its sources.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { listSources } from './sources.ts'

/** Sources of the API, whose definitions become the reference. */
const folders = ['docs', 'api/src', 'api/core/src', 'api/people/src']

/** Whether no document, generator or source of the API is newer than the built site. */
export function isFresh(root: string, outDir: string): boolean {
  const built = join(outDir, 'index.html')
  if (!existsSync(built)) return false
  const builtAt = statSync(built).mtimeMs
  const paths = [...folders.flatMap((folder) => listFiles(root, folder)), ...listSources(root).keys()]
  return [...paths, 'package-lock.json'].every((path) => statSync(join(root, path)).mtimeMs < builtAt)
}

/** Files and folders: a deleted file changes the time of its folder. */
function listFiles(root: string, folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  const paths = entries.map((name) => join(folder, name))
  return paths.filter((path) => path !== 'docs/site' && !/(^|\/)(node_modules|dist|dist\.next)(\/|$)/.test(path))
}
