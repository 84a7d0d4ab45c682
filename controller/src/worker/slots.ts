// The working end of the controller: how many tasks are in flight, and when the next is claimed. A free place looks
// when a nudge comes, when a task ends, when the pods change, and by a timer that covers lost nudges. If this
// process dies, its claims lapse and others go on; nothing here is the only copy of anything.

import { repeat } from '@matte/core/runtime/loop'
import { settledOrAborted } from '@matte/core/runtime/race'
import { deferred, type Service } from '@matte/core/runtime/service'
import type { ClaimedTask } from '@matte/core/task/claim-task'
import type { Logger } from 'pino'
import { type Pod, type PodSource, takesPictures } from './routing/pod-source.ts'

export type SlotsOptions = {
  readonly source: PodSource
  /** Tasks per pod beyond its slots: they are fetched and decoded while the slots are busy. */
  readonly ahead: number
  /** The most tasks in flight, however many pods there are: what one process can decode, not what pods can take. */
  readonly inFlightMax: number
  readonly claimEveryMs: number
  readonly claim: (modelVersions: readonly string[]) => Promise<ClaimedTask | undefined>
  /** Never rejects: whatever happens to a task is written to its row or left to the lapse of its claim. */
  readonly run: (task: ClaimedTask, signal: AbortSignal) => Promise<void>
  /** After the stop signal, tasks in flight have so long to finish before they are given back. */
  readonly finishWithinMs: number
  readonly logger: Logger
}

export type Slots = Service & {
  /** Look for a task now; cheap when there is no room. */
  lookNow(): void
  /** Resolves when a nudge would be of use: a pod is ready and has room. */
  untilRoom(signal: AbortSignal): Promise<void>
  tasksInFlight(): number
}

export function createSlots(options: SlotsOptions): Slots {
  const { source, logger } = options
  const inFlight = new Map<Promise<void>, string>()
  let seen: readonly Pod[] | undefined
  let lines: readonly Line[] = []
  const abandon = new AbortController()
  let roomChanged = deferred<void>()

  function linesNow(): readonly Line[] {
    const pods = source.pods()
    if (pods !== seen) {
      seen = pods
      lines = linesOf(pods, options.ahead)
    }
    return lines
  }
  const busy = (versions: readonly string[]): number =>
    [...inFlight.values()].filter((version) => versions.includes(version)).length
  const hasRoom = ({ versions, capacity, pool }: Line): boolean =>
    busy(versions) < capacity && busy(pool.versions) < pool.capacity

  const versionsWithRoom = (): string[] =>
    inFlight.size >= options.inFlightMax
      ? []
      : linesNow()
          .filter(hasRoom)
          .flatMap(({ versions, capacityOf }) =>
            versions.filter((version) => busy([version]) < (capacityOf.get(version) ?? 0)),
          )

  function hold(task: ClaimedTask): void {
    const work = options.run(task, abandon.signal).finally(() => {
      inFlight.delete(work)
      roomChanged.resolve()
      roomChanged = deferred()
      lookNow()
    })
    inFlight.set(work, task.modelVersion)
  }

  /** Claims until there is no room or no task. */
  async function claimWhileRoom(signal: AbortSignal): Promise<number> {
    try {
      for (let versions = versionsWithRoom(); versions.length > 0 && !signal.aborted; versions = versionsWithRoom()) {
        const task = await options.claim(versions)
        if (task === undefined) break
        hold(task)
      }
    } catch (error) {
      logger.warn({ err: error }, 'claiming failed; the timer claims again')
    }
    return options.claimEveryMs
  }
  const claiming = repeat({ name: 'slots', pass: claimWhileRoom })
  const lookNow = claiming.wake

  source.onChange(() => {
    roomChanged.resolve()
    roomChanged = deferred()
    lookNow()
  })

  return {
    name: claiming.name,
    lookNow,
    tasksInFlight: () => inFlight.size,
    start: claiming.start,
    untilRoom: async (signal) => {
      while (!signal.aborted && versionsWithRoom().length === 0) {
        await settledOrAborted(roomChanged.promise, signal)
      }
    },
    stop: async () => {
      await claiming.stop()
      const late = setTimeout(() => abandon.abort(), options.finishWithinMs)
      await Promise.all(inFlight.keys())
      clearTimeout(late)
    },
  }
}

/**
 * What can be worked on together: the pods that share a version, while a pool goes over to another model those of both
 * revisions. A version that only one of the two answers for has the places of that one. The models of a pool share its pods,
 * so the pool has a bound too.
 */
type Line = {
  readonly versions: string[]
  capacity: number
  /** Places of the pods that answer for a version. */
  readonly capacityOf: Map<string, number>
  readonly pool: Total
}
type Total = { readonly versions: string[]; capacity: number; readonly addresses: Set<string>; readonly lines: Line[] }

function linesOf(pods: readonly Pod[], ahead: number): Line[] {
  const pools = new Map<string, Total>()
  for (const { address, modelVersions, pool: name, shape, podSlots } of pods.filter(takesPictures)) {
    const pool = pools.get(name) ?? { versions: [], capacity: 0, addresses: new Set<string>(), lines: [] }
    pools.set(name, pool)
    if (!pool.addresses.has(address)) pool.capacity += podSlots + ahead
    pool.addresses.add(address)
    const line = lineOf(pool, modelVersions)
    const places = shape.slots + ahead
    line.capacity += places
    for (const version of modelVersions) line.capacityOf.set(version, (line.capacityOf.get(version) ?? 0) + places)
    for (const { versions } of [line, pool]) {
      for (const version of modelVersions) if (!versions.includes(version)) versions.push(version)
    }
  }
  return [...pools.values()].flatMap(({ lines }) => lines)
}

/** The line of these versions; two that turn out to have one in common become one. */
function lineOf(pool: Total, modelVersions: readonly string[]): Line {
  const [line = { versions: [], capacity: 0, capacityOf: new Map<string, number>(), pool }, ...others] =
    pool.lines.filter(({ versions }) => versions.some((version) => modelVersions.includes(version)))
  if (!pool.lines.includes(line)) pool.lines.push(line)
  for (const other of others) {
    line.capacity += other.capacity
    line.versions.push(...other.versions)
    for (const [version, capacity] of other.capacityOf) line.capacityOf.set(version, capacity)
    pool.lines.splice(pool.lines.indexOf(other), 1)
  }
  return line
}
