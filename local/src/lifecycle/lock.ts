import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ProcessRecord, readLiveRecord } from './pid-file.ts'
import { identify } from './process-identity.ts'

/**
 * Keeps two `make up` or `make down` from working on one folder at once. Returns the release.
 * @throws Error when another holds it
 */
export function takeLock(runDir: string): () => void {
  const path = join(runDir, 'lock')
  mkdirSync(runDir, { recursive: true })
  const identity = identify(process.pid) ?? { pid: process.pid, born: '' }
  const content: Partial<ProcessRecord> = { ...identity, name: 'make' }
  try {
    writeFileSync(path, JSON.stringify(content), { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const holder = readLiveRecord(path)
    if (holder)
      throw new Error(`another make up or make down is running here (process ${holder.pid}): wait for its end.`)
    writeFileSync(path, JSON.stringify(content)) // left behind by one that was killed
  }
  return () => rmSync(path, { force: true })
}
