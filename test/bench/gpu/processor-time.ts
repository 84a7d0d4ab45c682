import { readdirSync, readFileSync } from 'node:fs'
import { listRecords, pidFileOf, readLiveRecord } from '@matte/local/lifecycle/pid-file'

/** CPU milliseconds so far of each process started in the folder, with descendants and threads. */
export function processorTimes(runDir: string): Map<string, number> {
  const all = readdirSync('/proc').flatMap((name) => statOf(name) ?? [])
  const timeOf = (pid: number): number => {
    const own = all.find((one) => one.pid === pid)?.ms ?? 0
    const children = all.filter(({ parent }) => parent === pid)
    return children.reduce((sum, child) => sum + timeOf(child.pid), own)
  }
  const records = listRecords(runDir).flatMap((name) => readLiveRecord(pidFileOf(runDir, name)) ?? [])
  return new Map(records.map(({ name, pid }) => [name, timeOf(pid)]))
}

/** The kernel's tick on every Linux that Node runs on. */
const msPerTick = 10

function statOf(name: string): { pid: number; parent: number; ms: number } | undefined {
  if (!/^\d+$/.test(name)) return undefined
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
    // The second field, the program's name, may contain spaces.
    const [, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // The last two count ended children.
    const ticks = [9, 10, 11, 12].reduce((sum, index) => sum + Number(rest[index]), 0)
    return { pid: Number(name), parent: Number(parent), ms: ticks * msPerTick }
  } catch {
    return undefined // it has ended
  }
}
