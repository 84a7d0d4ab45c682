import { readdirSync, readFileSync } from 'node:fs'

/** CPU milliseconds so far of a process, its threads and its descendants, ended ones included. */
export function processorMs(pid: number): number {
  const all = readdirSync('/proc').flatMap((name) => statOf(name) ?? [])
  const timeOf = (id: number): number => {
    const own = all.find((one) => one.pid === id)?.ms ?? 0
    return all.filter(({ parent }) => parent === id).reduce((sum, child) => sum + timeOf(child.pid), own)
  }
  return timeOf(pid)
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
