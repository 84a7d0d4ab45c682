import { readdirSync, readFileSync } from 'node:fs'

type ProcessStat = {
  /** Boot id and start time in clock ticks since boot. */
  readonly born: string
  readonly group: number
  readonly session: number
  /** The process only waits to be collected by its parent. */
  readonly hasEnded: boolean
}

/** Undefined: there is no such process. */
export function readStat(pid: number): ProcessStat | undefined {
  const stat = readText(`/proc/${pid}/stat`)
  // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? []
  const [state, , group, session] = fields
  const startTicks = fields[19]
  if (state === undefined || startTicks === undefined) return undefined
  // A killed program's first thread is a zombie at once, while its other threads may hold files and ports still.
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
