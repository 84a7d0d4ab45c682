import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '../paths.ts'

/** What is in these folders of the checkout now: the newest change among their files and how many there are. */
export function treeVersion(folders: readonly string[]): string {
  const files = folders.flatMap((folder) => {
    const below = readdirSync(join(rootDir, folder), { recursive: true, withFileTypes: true })
    return below.filter((entry) => entry.isFile())
  })
  const newest = Math.max(...files.map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs))
  return `${files.length} ${newest}`
}
