// Creations beyond the plan's limit of concurrent tasks. They are refused without effect, so they are sent again, one
// at a time and in order, when a task has ended or after a pause.
import { MatteError } from '../error.ts'
import { aborted } from '../http/answer-errors.ts'
import { sleep } from '../http/deadline.ts'
import type { Pulse } from './pool.ts'

/** Pause before the next attempt, if none of the tasks of this run ends before it. */
const pauseFirstMs = 500
const pauseMaxMs = 8_000

/** Contended, the answer must not wait for the task: the next in turn waits for the answer. */
type Create<T> = (isContended: boolean) => Promise<T>

export type InTurn = <T>(create: Create<T>) => Promise<T>

type TurnDeps = {
  readonly onRefused: (epoch: number) => void
  readonly ends: Pulse
  /** Longest time of refusals. */
  readonly waitMs: number
}

export function createTurns({ onRefused, ends, waitMs }: TurnDeps): (epoch: number, signal: AbortSignal) => InTurn {
  let contenders = 0
  let last: Promise<unknown> = Promise.resolve()

  async function untilAccepted<T>(create: Create<T>, signal: AbortSignal): Promise<T> {
    const endsAtMs = Date.now() + waitMs
    for (let refusal = 0; ; refusal++) {
      if (signal.aborted) throw aborted(signal.reason)
      try {
        return await create(true)
      } catch (error) {
        if (!isAtLimit(error) || Date.now() > endsAtMs) throw error
        const pauseMs = Math.random() * Math.min(pauseMaxMs, pauseFirstMs * 2 ** refusal)
        await pauseOrEnd(pauseMs, ends, signal)
      }
    }
  }

  return (epoch, signal) => async (create) => {
    if (contenders === 0) {
      try {
        return await create(false)
      } catch (error) {
        if (!isAtLimit(error)) throw error
        onRefused(epoch)
      }
    }
    contenders++
    const mine = last.then(() => untilAccepted(create, signal))
    last = mine.catch(() => undefined)
    return mine.finally(() => contenders--)
  }
}

const isAtLimit = (error: unknown): boolean => error instanceof MatteError && error.code === 'TASK_CONCURRENT_LIMIT'

/** Resolves after the time, or when a task ends, or when the run is aborted. */
async function pauseOrEnd(ms: number, ends: Pulse, signal: AbortSignal): Promise<void> {
  const done = new AbortController()
  const stop = () => done.abort()
  signal.addEventListener('abort', stop)
  void ends.next().then(stop)
  await sleep(ms, done.signal).catch(() => undefined)
  signal.removeEventListener('abort', stop)
}
