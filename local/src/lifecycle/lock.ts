import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type ProcessRecord, readRecord } from './pid-file.ts'
import { identify, isAlive } from './process-identity.ts'

type LockOptions = {
  readonly name: 'make up' | 'make down'
  readonly say: (line: string) => void
  /** Longest wait for a `make down`: above the time that it gives the slowest process to stop. */
  readonly timeoutMs?: number
}

/**
 * Keeps two `make up` or `make down` from working on one folder at once. Waits for a `make down`, which ends soon.
 * Returns the release. @throws Error when a `make up` holds it, or a `make down` beyond the limit
 */
export async function takeLock(runDir: string, { name, say, timeoutMs = 60_000 }: LockOptions): Promise<() => void> {
  const path = join(runDir, 'lock')
  mkdirSync(runDir, { recursive: true })
  const begun = performance.now()
  for (let said = false; ; await pause(100)) {
    const holder = acquire(path, name)
    if (holder === undefined) return () => release(path)
    const waitedMs = performance.now() - begun
    if (holder.name !== 'make down' || waitedMs > timeoutMs) {
      throw new Error(`${holder.name} is already running here (process ${holder.pid}): wait for its end.`)
    }
    if (!said && waitedMs > 1_000) {
      say(`waiting up to ${timeoutMs / 1_000} s for ${holder.name} (process ${holder.pid}) to end …`)
      said = true
    }
  }
}

/** Returns the process that holds the lock; undefined when this process now does. */
function acquire(path: string, name: string): ProcessRecord | undefined {
  const own = `${path}.${process.pid}`
  const identity = identify(process.pid) ?? { pid: process.pid, born: '' }
  writeFileSync(own, JSON.stringify({ ...identity, name }))
  try {
    // A link appears with its content, so no other process reads half a record.
    while (!succeeds(() => linkSync(own, path), 'EEXIST')) {
      const holder = readRecord(path)
      if (holder && isAlive(holder)) return holder
      removeDead(path)
    }
    return undefined
  } finally {
    rmSync(own, { force: true })
  }
}

/** Removes the lock of a killed process. Moved first: another process may have replaced it since it was read. */
function removeDead(path: string): void {
  const moved = `${path}.${process.pid}.dead`
  if (!succeeds(() => renameSync(path, moved), 'ENOENT')) return
  const holder = readRecord(moved)
  if (holder && isAlive(holder)) succeeds(() => linkSync(moved, path), 'EEXIST')
  rmSync(moved, { force: true })
}

function release(path: string): void {
  if (readRecord(path)?.pid === process.pid) rmSync(path, { force: true })
}

/** False when the call fails with this code. @throws any other error */
function succeeds(call: () => void, code: string): boolean {
  try {
    call()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return false
    throw error
  }
}
