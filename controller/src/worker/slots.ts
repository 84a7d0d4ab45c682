// How many tasks are in flight, and when the next is claimed: a free slot looks when a nudge comes, when a task ends,
// when the pods change or the store is back, and by a timer for lost nudges. If this process dies, its claims lapse.
import { repeat } from '@matte/core/runtime/loop'
import { settledOrAborted } from '@matte/core/runtime/race'
import { deferred } from '@matte/core/runtime/service'
import type { StoreProbe } from '@matte/core/storage/store-probe'
import type { ClaimedTask } from '@matte/core/task/run/claim-task'
import type { Logger } from 'pino'
import { linesFrom, versionsWithRoom } from './capacity.ts'
import type { PodSource } from './routing/pod-source.ts'

export type SlotsOptions = {
  readonly source: PodSource
  /** While the store is down nothing is claimed: an attempt would be spent on asking it. */
  readonly store: Pick<StoreProbe, 'isDown' | 'onBack'>
  /** Tasks per pod beyond its slots: they are fetched and decoded while the slots are busy. */
  readonly ahead: number
  /** The most tasks in flight, however many pods there are: what one process can decode, not what pods can take. */
  readonly inFlightMax: number
  readonly claimEveryMs: number
  readonly claim: (modelVersions: readonly string[]) => Promise<ClaimedTask | undefined>
  /** Called when it failed, beside the line of log. */
  readonly claimFailed: () => void
  /** Never rejects: whatever happens to a task is written to its row or left to the lapse of its claim. */
  readonly run: (task: ClaimedTask, signal: AbortSignal) => Promise<void>
  /** After the stop signal, tasks in flight have so long to finish before they are given back. */
  readonly finishWithinMs: number
  readonly logger: Logger
}

export function createSlots(options: SlotsOptions) {
  const { source, store, logger } = options
  const inFlight = tasksInFlight(options, () => onRoom())
  const lines = linesFrom(source, options.ahead)
  let roomChanged = deferred<void>()

  const claimable = (): string[] =>
    inFlight.count() >= options.inFlightMax || store.isDown() ? [] : versionsWithRoom(lines(), inFlight.versions())

  /** Claims until there is no room or no task. */
  async function claimWhileRoom(signal: AbortSignal): Promise<number> {
    try {
      for (let versions = claimable(); versions.length > 0 && !signal.aborted; versions = claimable()) {
        const task = await options.claim(versions)
        if (task === undefined) break
        inFlight.hold(task)
      }
    } catch (error) {
      options.claimFailed()
      logger.warn({ err: error }, 'claiming failed; the timer claims again')
    }
    return options.claimEveryMs
  }
  const claiming = repeat({ name: 'slots', pass: claimWhileRoom })

  function stopTaking(): void {
    claiming.halt()
    inFlight.endSoon()
  }

  function onRoom(): void {
    roomChanged.resolve()
    roomChanged = deferred()
    claiming.wake()
  }
  source.onChange(onRoom)
  store.onBack(onRoom)

  return {
    ...claiming,
    /** Look for a task now; cheap when there is no room. */
    lookNow: claiming.wake,
    tasksInFlight: inFlight.count,
    /** Resolves when a nudge would be of use: a pod is ready and has room, and the store is there. */
    untilRoom: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted && claimable().length === 0) {
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

/** Those that have not ended `finishWithinMs` after `endSoon` are given back. */
function tasksInFlight({ run, finishWithinMs }: SlotsOptions, onEnd: () => void) {
  const versions = new Map<Promise<void>, string>()
  const abandon = new AbortController()
  let late: NodeJS.Timeout | undefined
  return {
    count: (): number => versions.size,
    versions: (): string[] => [...versions.values()],
    hold: (task: ClaimedTask): void => {
      const work = run(task, abandon.signal).finally(() => {
        versions.delete(work)
        onEnd()
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
