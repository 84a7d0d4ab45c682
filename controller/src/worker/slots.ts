// Claims tasks while there is room: on a nudge, when a task ends, when pods change, when the store returns, and by a
// timer for lost nudges. Once a claim says that nothing more waits, ends of tasks claim nothing until one of the others
// occurs, or a task ends whose workspace has more. If the process dies, its claims lapse.
import { repeat } from '@matte/core/runtime/loop'
import { settledOrAborted } from '@matte/core/runtime/race'
import { deferred } from '@matte/core/runtime/service'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import type { ClaimedTask, Claims } from '@matte/core/task/run/claim-task'
import type { Logger } from 'pino'
import { linesFrom, type Room, roomOf } from './capacity.ts'
import type { PodSource } from './routing/pod-source.ts'

export type SlotsOptions = {
  readonly source: PodSource
  /** Nothing is claimed while the store is down: it would cost an attempt. */
  readonly store: Pick<StoreProbe, 'isDown' | 'onBack'>
  /** Tasks per pod beyond its slots, fetched and decoded while the slots are busy. */
  readonly ahead: number
  /** Limit of what one process can decode, however many pods there are. */
  readonly inFlightMax: number
  readonly claimEveryMs: number
  readonly claim: (room: Room) => Promise<Claims>
  readonly claimFailed: () => void
  /**
   * Never rejects: every outcome is written to the row or left to the claim's lapse. Returns whether a task may have
   * become claimable by it.
   */
  readonly run: (task: ClaimedTask, signal: AbortSignal) => Promise<boolean>
  /** Time for tasks in flight to finish after the stop signal; then they are given back. */
  readonly finishWithinMs: number
  readonly logger: Logger
}

export function createSlots(options: SlotsOptions) {
  const { source, store, logger } = options
  const inFlight = tasksInFlight(options, (mayClaim) => (mayClaim ? onRoom() : onEnd()))
  const lines = linesFrom(source, options.ahead)
  let roomChanged = deferred<void>()
  /** Versions for which nothing waited at the last claim, and no news came since. */
  const idle = new Set<string>()

  function room(): Room {
    const left = options.inFlightMax - inFlight.count()
    if (left <= 0 || store.isDown()) return { versions: [], tasks: 0 }
    const { versions, tasks } = roomOf(lines(), inFlight.versions())
    return { versions, tasks: Math.min(tasks, left) }
  }
  const isWorthAsking = ({ versions }: Room): boolean => versions.some((version) => !idle.has(version))

  async function claimWhileRoom(signal: AbortSignal): Promise<number> {
    idle.clear() // the timer or news began this pass
    try {
      for (let asked = room(); isWorthAsking(asked) && !signal.aborted; asked = room()) {
        // Before the claim, so news during it is kept.
        for (const version of asked.versions) idle.add(version)
        const { tasks, more } = await options.claim(asked)
        for (const task of tasks) inFlight.hold(task)
        if (more) idle.clear()
        if (tasks.length === 0) break
      }
    } catch (error) {
      idle.clear()
      options.claimFailed()
      logger.warn({ err: error }, 'claiming failed; the timer retries')
    }
    return options.claimEveryMs
  }
  const claiming = repeat({ name: 'slots', pass: claimWhileRoom })

  function lookNow(): void {
    idle.clear()
    claiming.wake()
  }

  function stopTaking(): void {
    claiming.halt()
    inFlight.endSoon()
  }

  function onRoom(): void {
    idle.clear()
    onEnd()
  }

  function onEnd(): void {
    roomChanged.resolve()
    roomChanged = deferred()
    if (isWorthAsking(room())) claiming.wake()
  }
  source.onChange(onRoom)
  store.onBack(onRoom)

  return {
    ...claiming,
    lookNow,
    tasksInFlight: inFlight.count,
    /** Resolves when a nudge is useful: a pod has room and the store is up. */
    untilRoom: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted && room().versions.length === 0) {
        await settledOrAborted(roomChanged.promise, signal)
      }
    },
    stopTaking,
    stop: async (): Promise<void> => {
      stopTaking()
      await claiming.stop()
      await inFlight.ended()
    },
  }
}

function tasksInFlight({ run, finishWithinMs }: SlotsOptions, onEnd: (mayClaim: boolean) => void) {
  const versions = new Map<Promise<void>, string>()
  const abandon = new AbortController()
  let late: NodeJS.Timeout | undefined
  return {
    count: (): number => versions.size,
    versions: (): string[] => [...versions.values()],
    hold: (task: ClaimedTask): void => {
      const work = run(task, abandon.signal).then((mayClaim) => {
        versions.delete(work)
        onEnd(mayClaim)
      })
      versions.set(work, task.modelVersion)
    },
    endSoon: (): void => {
      late ??= setTimeout(() => abandon.abort(), finishWithinMs)
    },
    ended: async (): Promise<void> => {
      await Promise.all(versions.keys())
      clearTimeout(late)
    },
  }
}
