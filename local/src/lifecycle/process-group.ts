// Process groups of servers. Each server leads a group and a session, which its helpers join.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { resolve } from 'node:path'

const checkout = resolve(import.meta.dirname, '../../..')

export function signalGroup(server: ProcessIdentity, signal: NodeJS.Signals): void {
  if (isAlive(server)) send(-server.pid, signal)
}

/** Includes helpers of an ended server. */
export function listHelpers(server: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    const stat = pid === server ? undefined : readStat(pid)
    return stat?.group === server && stat.session === server && !stat.hasEnded
  })
}

/**
 * Kills the helpers of an ended server; returns whether there were any. The kernel does not reuse a group's number
 * while it has members. Only programs of this checkout are killed.
 */
export function killHelpersLeftBehind({ pid, born }: ProcessIdentity): boolean {
  const holder = readStat(pid)
  const hasServerEnded = holder ? holder.born === born && holder.hasEnded : born.startsWith(`${readBootId()}/`)
  if (!hasServerEnded) return false
  const helpers = listHelpers(pid).filter((helper) => readProgram(helper).startsWith(checkout))
  for (const helper of helpers) send(helper, 'SIGKILL')
  return helpers.length > 0
}

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

// Pid with start time and boot: a pid alone is reused, and a stranger must never be signalled.
export type ProcessIdentity = {
  readonly pid: number
  readonly born: string
}

export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid)
  return stat === undefined || stat.hasEnded ? undefined : { pid, born: stat.born }
}

export function isAlive({ pid, born }: ProcessIdentity): boolean {
  return identify(pid)?.born === born
}

type ProcessStat = {
  readonly born: string
  readonly group: number
  readonly session: number
  readonly hasEnded: boolean
}

export function readStat(pid: number): ProcessStat | undefined {
  const stat = readText(`/proc/${pid}/stat`)
  // The second field, the program's name, may contain spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  const [state, , group, session] = fields
  const startTicks = fields[19]
  if (state === undefined || startTicks === undefined) return undefined
  // The first thread of a killed program is a zombie while others still hold files and ports.
  const hasEnded = state === 'X' || (state === 'Z' && countThreads(pid) <= 1)
  return { born: `${readBootId()}/${startTicks}`, group: Number(group), session: Number(session), hasEnded }
}

export const readBootId = (): string => readText('/proc/sys/kernel/random/boot_id')?.trim() ?? ''

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
