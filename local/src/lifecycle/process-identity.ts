// Who a process is. A pid alone is reused; pid, start time and boot together are not, so nothing here ever signals a
// process that only got the pid of one of ours.
import { readStat } from './process-stat.ts'

export type ProcessIdentity = {
  readonly pid: number
  /** Boot id and start time in clock ticks since boot. */
  readonly born: string
}

/** Undefined: there is no such process, or it has ended and only waits to be collected. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid)
  return stat === undefined || stat.hasEnded ? undefined : { pid, born: stat.born }
}

export function isAlive({ pid, born }: ProcessIdentity): boolean {
  return identify(pid)?.born === born
}
