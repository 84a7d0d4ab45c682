// State of the machine that a run depends on. A full disk or busy cores make servers refuse requests in tests that have
// nothing to do with either, so a run prints this state at its start and beside each failed phase.
import { readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir, totalmem } from 'node:os'

export type Machine = {
  /** The smaller of what is free for the checkout and for temporary files. */
  readonly freeDiskBytes: number
  /** Memory that programs can still take, page cache included. */
  readonly freeMemoryBytes: number
  readonly memoryBytes: number
  /** Mean of processes that ran or waited for a core during the last minute. */
  readonly load: number
  readonly cores: number
}

/** Parts, dependencies, images and data of a run take 6 GB at most; the rest is room for what else writes meanwhile. */
export const freeDiskMinBytes = 10e9

export function readMachine(): Machine {
  return {
    freeDiskBytes: Math.min(...[process.cwd(), tmpdir()].map(freeBytes)),
    freeMemoryBytes: 1024 * Number(/MemAvailable:\s+(\d+) kB/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1] ?? 0),
    memoryBytes: totalmem(),
    load: loadavg()[0] ?? 0,
    cores: availableParallelism(),
  }
}

export const describeMachine = ({ freeDiskBytes, freeMemoryBytes, memoryBytes, load, cores }: Machine): string =>
  `${gigabytes(freeDiskBytes)} of disk free, ` +
  `${gigabytes(freeMemoryBytes)} of ${gigabytes(memoryBytes)} of memory free, ` +
  `load ${load.toFixed(1)} on ${cores} cores`

/** Why a run must not begin on this machine; undefined when it may. */
export const findShortage = ({ freeDiskBytes }: Machine): string | undefined =>
  freeDiskBytes >= freeDiskMinBytes
    ? undefined
    : `Only ${gigabytes(freeDiskBytes)} of disk are free, and a run needs ${gigabytes(freeDiskMinBytes)}. ` +
      `Free some, or set TMPDIR to a folder on another disk.`

const freeBytes = (path: string): number => {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`
