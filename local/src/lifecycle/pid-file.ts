// The record of a detached process: enough to find, check and stop it later from another program, and no secret.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { killHelpersLeftBehind, listHelpers, signalGroup } from './process-group.ts'
import { isAlive, type ProcessIdentity } from './process-identity.ts'
import { waitUntil } from './wait.ts'

export type ProcessRecord = ProcessIdentity & {
  readonly name: string
  readonly stopSignal: NodeJS.Signals
  /** How long a clean stop may take before SIGKILL, in milliseconds. */
  readonly stopTimeoutMs: number
  /** Files outside the data folder that the process leaves behind and that are removed once it has ended. */
  readonly leftovers: readonly string[]
  readonly ports: readonly number[]
  /** Digest of command, environment and ports: another one means that the process runs with an older configuration. */
  readonly fingerprint: string
}

export function writeRecord(pidFile: string, record: ProcessRecord): void {
  mkdirSync(dirname(pidFile), { recursive: true })
  // Written aside and renamed, so that nobody reads half a record.
  writeFileSync(`${pidFile}.new`, `${JSON.stringify(record, null, 2)}\n`)
  renameSync(`${pidFile}.new`, pidFile)
}

/** Undefined: no record, or one that is not ours to read. */
export function readRecord(pidFile: string): ProcessRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(pidFile, 'utf8')) as Partial<ProcessRecord>
    const whole = Number.isInteger(record.pid) && typeof record.born === 'string' && typeof record.name === 'string'
    if (!whole) return undefined
    const defaults = { stopSignal: 'SIGTERM', stopTimeoutMs: 10_000, leftovers: [], ports: [], fingerprint: '' }
    return { ...defaults, ...record } as ProcessRecord
  } catch {
    return undefined
  }
}

/** The record of a process that still runs. */
export function readLiveRecord(pidFile: string): ProcessRecord | undefined {
  const record = readRecord(pidFile)
  return record && isAlive(record) ? record : undefined
}

/** Names of all records in a folder, sorted. */
export function listRecords(runDir: string): string[] {
  try {
    const files = readdirSync(runDir).filter((file) => file.endsWith('.json'))
    return files.map((file) => basename(file, '.json')).sort()
  } catch {
    return []
  }
}

export const pidFileOf = (runDir: string, name: string): string => join(runDir, `${name}.json`)

/**
 * Asks the process to stop, kills it after its limit, and removes what it leaves, helpers of a process that was killed
 * among it. True: it or its helpers were running.
 */
export async function stopProcess(record: ProcessRecord): Promise<boolean> {
  const running = isAlive(record)
  if (running) {
    signalGroup(record, record.stopSignal)
    signalGroup(record, 'SIGCONT') // a process that was paused with SIGSTOP would not see the signal otherwise
    const ended = () => !isAlive(record)
    await waitUntil(ended, { what: `${record.name} has stopped`, timeoutMs: record.stopTimeoutMs }).catch(() =>
      signalGroup(record, 'SIGKILL'),
    )
    // 20 s: even a large process is gone in that time unless the kernel itself is stuck on its files.
    await waitUntil(ended, { what: `${record.name} (pid ${record.pid}) was killed`, timeoutMs: 20_000 })
  }
  const left = killHelpersLeftBehind(record)
  if (left) {
    const what = `the helpers of ${record.name} (group ${record.pid}) were killed`
    await waitUntil(() => listHelpers(record.pid).length === 0, { what, timeoutMs: 20_000 })
  }
  for (const path of record.leftovers) rmSync(path, { force: true })
  return running || left
}
