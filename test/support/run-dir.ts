// Folder of one test run: logs, databases and objects of its servers, and temporary files of its tests. Removed with
// the run, or a day later if a test failed. The next run removes the remains of a killed one.
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { identify } from '@matte/local/lifecycle/process-group'

const namePrefix = 'matte-test-'
const keptForMs = 24 * 60 * 60 * 1_000

/** A previous run in this process leaves `TMPDIR` set to its own folder. */
const temporaryFolder = (): string => (process.env.MATTE_TEST_RUN ? dirname(process.env.MATTE_TEST_RUN) : tmpdir())

const endRun = join(import.meta.dirname, 'end-run.sh')

/**
 * Creates the folder and adds the processes that this one starts from now on, with their children, to the run: their
 * temporary files are in its folder, and they are killed when this process ends.
 */
export function startRun(parent = temporaryFolder()): string {
  const dir = createRunDir(parent)
  const temporary = join(dir, 'tmp')
  mkdirSync(temporary)
  chmodSync(temporary, 0o777) // servers that run as another user
  const guard = spawn(endRun, [dir], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  guard.unref()
  ;(guard.stdin as typeof guard.stdin & { unref?: () => void }).unref?.()
  Object.assign(process.env, { TMPDIR: temporary, MATTE_TEST_RUN: dir })
  return dir
}

export function createRunDir(parent: string): string {
  removeLeftovers(parent)
  const dir = mkdtempSync(join(parent, namePrefix))
  chmodSync(dir, 0o755) // PostgreSQL runs as another user if this one is root
  writeFileSync(ownerFile(dir), JSON.stringify(identify(process.pid)))
  return dir
}

/** Keeps the folder for diagnosis of the failure. */
export const keepRunDir = (dir: string): void => writeFileSync(keptFile(dir), '')

export const removeRunDir = (dir: string): void => rmSync(dir, { recursive: true, force: true })

const ownerFile = (dir: string): string => join(dir, 'owner.json')
const keptFile = (dir: string): string => join(dir, 'kept')

/** Ends killed runs of this user, and removes their folders and those older than a day. */
function removeLeftovers(parent: string): void {
  const names = readdirSync(parent)
  for (const name of names.filter((entry) => entry.startsWith(namePrefix))) {
    const dir = join(parent, name)
    try {
      const { mtimeMs, uid } = statSync(existsSync(keptFile(dir)) ? keptFile(dir) : ownerFile(dir))
      if (uid !== process.getuid?.()) continue
      if (!isOwned(dir)) spawnSync(endRun, [dir], { input: '' })
      if (existsSync(keptFile(dir)) && Date.now() - mtimeMs > keptForMs) removeRunDir(dir)
    } catch {
      // Without an owner file, its run is just creating or removing the folder.
    }
  }
  for (const name of names) {
    try {
      removeOld(parent, name)
    } catch {
      // Another program uses it, or another run removes it at the same time.
    }
  }
}

/** Names by mkdtemp with a prefix of this repository: words, then six characters with a capital letter or a digit. */
const temporaryName = /^matte(-[a-z]+)+-(?=.*[A-Z\d])\w{6}$/

/** Removes temporary files of killed checks, programs or Tritons that are unchanged for a day. */
function removeOld(parent: string, name: string): void {
  const path = join(parent, name)
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat?.uid !== process.getuid?.() || stat === undefined || Date.now() - stat.mtimeMs < keptForMs) return
  const isRun = existsSync(ownerFile(path)) || existsSync(keptFile(path))
  if (temporaryName.test(name) && !isRun && !existsSync(join(path, '.git'))) removeRunDir(path)
  // Triton creates this folder at start and removes it at a clean stop. It stays empty for this repository's models.
  if (/^python_env_\w{6}$/.test(name) && readdirSync(path).length === 0) rmdirSync(path)
}

function isOwned(dir: string): boolean {
  const { pid, born } = JSON.parse(readFileSync(ownerFile(dir), 'utf8')) as { pid: number; born: string }
  return identify(pid)?.born === born
}
