// The process group of a server. Each server leads a group and a session, which the helpers that it forks join.
import { readdirSync, readlinkSync } from 'node:fs'
import { resolve } from 'node:path'
import { isAlive, type ProcessIdentity } from './process-identity.ts'
import { readBootId, readStat } from './process-stat.ts'

const checkout = resolve(import.meta.dirname, '../../..')

/** Signals the server and its helpers. Nothing happens when the server has ended. */
export function signalGroup(server: ProcessIdentity, signal: NodeJS.Signals): void {
  if (isAlive(server)) send(-server.pid, signal)
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
 * group that has members, so a stranger with that number means that the group is gone. A stranger that took the number
 * later may have ended too, so only programs of this checkout are killed.
 */
export function killHelpersLeftBehind({ pid, born }: ProcessIdentity): boolean {
  const holder = readStat(pid)
  const hasServerEnded = holder ? holder.born === born && holder.hasEnded : born.startsWith(`${readBootId()}/`)
  if (!hasServerEnded) return false
  const helpers = listHelpers(pid).filter((helper) => readProgram(helper).startsWith(checkout))
  for (const helper of helpers) send(helper, 'SIGKILL')
  return helpers.length > 0
}

/** Path of the program that a process runs; '' when the process has ended. */
function readProgram(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return ''
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
