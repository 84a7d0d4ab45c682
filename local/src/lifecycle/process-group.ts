// The process group of a server. Each server leads a group and a session, which the helpers that it forks join.
import { readdirSync } from 'node:fs'
import { isAlive, type ProcessIdentity } from './process-identity.ts'
import { readBootId, readStat } from './process-stat.ts'

/** Signals the server and its helpers. Nothing happens when the server has ended. */
export function signalGroup(server: ProcessIdentity, signal: NodeJS.Signals): void {
  if (isAlive(server)) sendToGroup(server.pid, signal)
}

/** Pids of a server's helpers that run, also after the server's end. */
export function listHelpers(server: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    const stat = pid === server ? undefined : readStat(pid)
    return stat?.group === server && stat.session === server && !stat.hasEnded
  })
}

/**
 * Kills the helpers of a server that has ended. True: there were some. The kernel gives no new process the number of a
 * group that has members, so a stranger with that number means that the group is gone.
 */
export function killHelpersLeftBehind({ pid, born }: ProcessIdentity): boolean {
  const holder = readStat(pid)
  const hasServerEnded = holder ? holder.born === born && holder.hasEnded : born.startsWith(`${readBootId()}/`)
  if (!hasServerEnded || listHelpers(pid).length === 0) return false
  sendToGroup(pid, 'SIGKILL')
  return true
}

function sendToGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
