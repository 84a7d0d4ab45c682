// Claims tasks while there is room: on a nudge, when a task ends, when pods change, when the store returns, and by a
// timer for lost nudges. If the process dies, its claims lapse.
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
  /** Nothing is claimed while the store is down: it would cost an attempt. */
  readonly store: Pick<StoreProbe, 'isDown' | 'onBack'>
  /** Tasks per pod beyond its slots, fetched and decoded while the slots are busy. */
  readonly ahead: number
  /** Limit of what one process can decode, however many pods there are. */
  readonly inFlightMax: number
  readonly claimEveryMs: number
  readonly claim: (modelVersions: readonly string[]) => Promise<ClaimedTask | undefined>
  readonly claimFailed: () => void
  /** Never rejects: every outcome is written to the row or left to the claim's lapse. */
  readonly run: (task: ClaimedTask, signal: AbortSignal) => Promise<void>
  /** Time for tasks in flight to finish after the stop signal; then they are given back. */
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

  async function claimWhileRoom(signal: AbortSignal): Promise<number> {
    try {
      for (let versions = claimable(); versions.length > 0 && !signal.aborted; versions = claimable()) {
        const task = await options.claim(versions)
        if (task === undefined) break
        inFlight.hold(task)
      }
    } catch (error) {
      options.claimFailed()
      logger.warn({ err: error }, 'claiming failed; the timer retries')
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
    lookNow: claiming.wake,
    tasksInFlight: inFlight.count,
    /** Resolves when a nudge is useful: a pod has room and the store is up. */
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
