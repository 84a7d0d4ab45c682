// Record of a detached process, from which another program can find, check and stop it. Holds no secret.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isAlive, killHelpersLeftBehind, listHelpers, type ProcessIdentity, signalGroup } from './process-group.ts'
import { waitUntil } from './wait.ts'

export type ProcessRecord = ProcessIdentity & {
  readonly name: string
  readonly stopSignal: NodeJS.Signals
  readonly stopTimeoutMs: number
  /** Files outside the data folder, removed after the process ends. */
  readonly leftovers: readonly string[]
  readonly ports: readonly number[]
  /** Digest of command, environment and ports; another value means an outdated configuration. */
  readonly fingerprint: string
}

export function writeRecord(pidFile: string, record: ProcessRecord): void {
  mkdirSync(dirname(pidFile), { recursive: true })
  // Renamed into place, so readers never see half a record.
  writeFileSync(`${pidFile}.new`, `${JSON.stringify(record, null, 2)}\n`)
  renameSync(`${pidFile}.new`, pidFile)
}

/** Undefined if missing or invalid. */
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

export function readLiveRecord(pidFile: string): ProcessRecord | undefined {
  const record = readRecord(pidFile)
  return record && isAlive(record) ? record : undefined
}

export function listRecords(runDir: string): string[] {
  try {
    const files = readdirSync(runDir).filter((file) => file.endsWith('.json'))
    return files.map((file) => basename(file, '.json')).sort()
  } catch {
    return []
  }
}

export const pidFileOf = (runDir: string, name: string): string => join(runDir, `${name}.json`)

/** Stops the process, its helpers included, and removes its files. Returns whether anything was running. */
export async function stopProcess(record: ProcessRecord): Promise<boolean> {
  const running = isAlive(record)
  if (running) {
    signalGroup(record, record.stopSignal)
    signalGroup(record, 'SIGCONT') // a process that was paused with SIGSTOP would not see the signal otherwise
    const ended = () => !isAlive(record)
    await waitUntil(ended, { what: `${record.name} has stopped`, timeoutMs: record.stopTimeoutMs }).catch(() =>
      signalGroup(record, 'SIGKILL'),
    )
    // Even a large process ends within 20 s of SIGKILL, unless the kernel is stuck.
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
