// The one loop of everything that runs again and again. `repeat` owns timing, overlap, wake-ups and stop; `loop` adds
// counts, errors and backoff, for passes over the database.
// If the process dies half-way, the next pass of any replica does the rest: a pass must be repeatable.
import type { Logger } from 'pino'
import { type Deferred, deferred, type Service } from './service.ts'

export type Loop = Service & {
  /** The next pass begins at once, or right after the one that runs. */
  wake(): void
  /** No pass begins any more, and the signal of the one that runs is aborted; `stop` waits for its end. */
  halt(): void
}

type RepeatOptions = {
  readonly name: string
  /** Resolves with the pause until the next pass in milliseconds, which a wake-up cuts short. Must not reject. */
  readonly pass: (signal: AbortSignal) => Promise<number>
  /** Pause before the first pass; without it that begins within the start. */
  readonly firstAfterMs?: number
}

export function repeat({ name, pass, firstAfterMs }: RepeatOptions): Loop {
  const stopping = new AbortController()
  const { signal } = stopping
  let woken: Deferred<void> = deferred()
  let running: Promise<void> | undefined

  async function pauseFor(ms: number): Promise<void> {
    const timer = setTimeout(woken.resolve, ms)
    await woken.promise
    clearTimeout(timer)
  }

  async function forever(): Promise<void> {
    if (firstAfterMs !== undefined) await pauseFor(firstAfterMs)
    while (!signal.aborted) {
      woken = deferred()
      await pauseFor(await pass(signal))
    }
  }

  function halt(): void {
    stopping.abort()
    woken.resolve()
  }

  return {
    name,
    start: () => {
      running ??= forever()
    },
    stop: async () => {
      halt()
      await running
    },
    halt,
    wake: () => woken.resolve(),
  }
}

export type Counts = Readonly<Record<string, number>>

type LoopOptions = {
  readonly name: string
  /** Pause between two passes in milliseconds; a wake-up cuts it short. */
  readonly everyMs: number
  /** One pass; it returns counts for the log line and the test. */
  readonly run: (signal: AbortSignal) => Promise<Counts>
  readonly logger: Logger
}

/** Bound of the pause after failures: long enough to spare a sick database, short enough to be back in seconds. */
const maxPauseMs = 15_000

/** A pass that throws is logged and tried again after a doubling pause, so a broken database makes no hot loop. */
export function loop({ name, everyMs, run, logger }: LoopOptions): Loop {
  let failures = 0
  return repeat({
    name,
    pass: async (signal) => {
      try {
        const counts = await run(signal)
        failures = 0
        if (Object.values(counts).some((count) => count > 0)) logger.info({ loop: name, ...counts }, 'loop pass')
        return everyMs
      } catch (error) {
        failures += 1
        if (!signal.aborted) logger.error({ loop: name, err: error }, 'loop pass failed')
        return Math.min(maxPauseMs, Math.max(everyMs, 100) * 2 ** Math.min(failures, 10))
      }
    },
  })
}
