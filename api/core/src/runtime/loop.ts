// Repeated passes. `repeat` owns timing, overlap, wake-ups and stop; `loop` adds counts, errors and backoff for
// database passes. A pass must be repeatable: if the process dies, another replica's pass does the rest.
import type { Logger } from 'pino'
import { type Deferred, deferred, type Service } from './service.ts'

export type Loop = Service & {
  wake(): void
  /** Starts no further pass and aborts the current one; `stop` waits for its end. */
  halt(): void
}

type RepeatOptions = {
  readonly name: string
  /** Resolves with the pause in milliseconds; `wake` ends the pause. Must not reject. */
  readonly pass: (signal: AbortSignal) => Promise<number>
  /** Pause before the first pass; by default it starts with the service. */
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
  readonly everyMs: number
  readonly run: (signal: AbortSignal) => Promise<Counts>
  readonly logger: Logger
}

/** Longest pause after failures: spares a failing database, and recovers within seconds. */
const maxPauseMs = 15_000

/** Logs a failed pass and retries with doubling pauses. */
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
