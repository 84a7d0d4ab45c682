// Who a process is. A pid alone is reused; pid, start time and boot together are not, so nothing here ever signals a
// process that only got the pid of one of ours.
import { readdirSync, readFileSync } from 'node:fs'

export type ProcessIdentity = {
  readonly pid: number
  /** Boot id and start time in clock ticks since boot. */
  readonly born: string
}

/** Undefined: there is no such process, or it has ended and only waits to be collected. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readText(`/proc/${pid}/stat`)
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  const state = fields?.[0]
  const startTicks = fields?.[19]
  if (state === undefined || startTicks === undefined || state === 'X') return undefined
  // A killed program's first thread is a zombie at once, while its other threads may hold files and ports still.
  if (state === 'Z' && countThreads(pid) <= 1) return undefined
  return { pid, born: `${readText('/proc/sys/kernel/random/boot_id')?.trim() ?? ''}/${startTicks}` }
}

export function isAlive({ pid, born }: ProcessIdentity): boolean {
  return identify(pid)?.born === born
}

/**
 * Signals the process and its group (each server is started as the leader of its own group, so that helpers which it
 * forked get the signal too). Nothing happens when the process has ended.
 */
export function signalGroup(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(identity)) return
  try {
    process.kill(-identity.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function countThreads(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length
  } catch {
    return 0
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
