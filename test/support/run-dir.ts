// The folder of one test run: logs, databases and objects of its servers. It goes with the run, or stays a day when a
// test failed. A run that was killed cannot tidy up, so the next one does it.
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { identify } from '@matte/local/lifecycle/process-identity'

const namePrefix = 'matte-test-'
const keptForMs = 24 * 60 * 60 * 1_000

export function createRunDir(parent = tmpdir()): string {
  removeLeftovers(parent)
  const dir = mkdtempSync(join(parent, namePrefix))
  chmodSync(dir, 0o755) // PostgreSQL runs as another user where this one is root
  writeFileSync(ownerFile(dir), JSON.stringify(identify(process.pid)))
  return dir
}

/** Leaves the folder to whoever looks into the failure. */
export const keepRunDir = (dir: string): void => writeFileSync(keptFile(dir), '')

export const removeRunDir = (dir: string): void => rmSync(dir, { recursive: true, force: true })

const ownerFile = (dir: string): string => join(dir, 'owner.json')
const keptFile = (dir: string): string => join(dir, 'kept')

/** Removes what nobody owns any more, and what was kept for long enough; another user's folders are left alone. */
function removeLeftovers(parent: string): void {
  for (const name of readdirSync(parent).filter((entry) => entry.startsWith(namePrefix))) {
    const dir = join(parent, name)
    try {
      const { mtimeMs, uid } = statSync(existsSync(keptFile(dir)) ? keptFile(dir) : ownerFile(dir))
      if (uid !== process.getuid?.()) continue
      const isOver = existsSync(keptFile(dir)) ? Date.now() - mtimeMs > keptForMs : !isOwned(dir)
      if (isOver) removeRunDir(dir)
    } catch {
      // Without an owner's file it is just being made, or just being removed by its run.
    }
  }
}

function isOwned(dir: string): boolean {
  const { pid, born } = JSON.parse(readFileSync(ownerFile(dir), 'utf8')) as { pid: number; born: string }
  return identify(pid)?.born === born
}
