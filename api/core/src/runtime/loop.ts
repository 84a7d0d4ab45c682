// The shared skeleton of everything that runs again and again: it owns timing, overlap, errors and stop.
// One pass is a function that takes nothing but the stop signal and returns counts for the log line and the test.
// A pass that throws is logged and tried again after a doubling pause, so a broken database makes no hot loop.
// If the process dies half-way, the next pass of any replica does the rest: a pass must be repeatable.
import type { Logger } from 'pino'
import { type Deferred, deferred, type Service } from './service.ts'

export type Counts = Readonly<Record<string, number>>

export type LoopOptions = {
  readonly name: string
  /** Pause between two passes in milliseconds; a wake-up cuts it short. */
  readonly everyMs: number
  readonly run: (signal: AbortSignal) => Promise<Counts>
  readonly logger: Logger
}

export type Loop = Service & {
  /** Look now: the next pass begins at once, or right after the one that runs. */
  wake(): void
}

/** Bound of the pause after failures: long enough to spare a sick database, short enough to be back in seconds. */
const maxPauseMs = 15_000

export function loop({ name, everyMs, run, logger }: LoopOptions): Loop {
  const stopping = new AbortController()
  let woken: Deferred<void> = deferred()
  let running: Promise<void> | undefined

  async function pass(): Promise<boolean> {
    try {
      const counts = await run(stopping.signal)
      if (Object.values(counts).some((count) => count > 0)) logger.info({ loop: name, ...counts }, 'loop pass')
      return true
    } catch (error) {
      if (!stopping.signal.aborted) logger.error({ loop: name, err: error }, 'loop pass failed')
      return false
    }
  }

  async function forever(): Promise<void> {
    let failures = 0
    while (!stopping.signal.aborted) {
      woken = deferred()
      failures = (await pass()) ? 0 : failures + 1
      const waitMs =
        failures === 0 ? everyMs : Math.min(maxPauseMs, Math.max(everyMs, 100) * 2 ** Math.min(failures, 10))
      const timer = setTimeout(woken.resolve, waitMs)
      await woken.promise
      clearTimeout(timer)
    }
  }

  return {
    name,
    start: () => {
      running ??= forever()
    },
    stop: async () => {
      stopping.abort()
      woken.resolve()
      await running
    },
    wake: () => woken.resolve(),
  }
}
