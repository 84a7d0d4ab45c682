// The demand on all pools, read together: the first reconcile pass that needs it runs one statement, and the others
// share the answer. An outage of the database costs each pass a bounded wait and leaves the last demand, which ages.
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { settledWithin } from '@matte/core/runtime/race'
import type { PoolDemand } from '@matte/core/scale/demand-queries'
import type { Logger } from 'pino'

export type DemandReading = {
  readonly demand: PoolDemand
  /** When the statement began, by the monotonic clock, and by the wall clock for people. */
  readonly atMs: number
  readonly at: Date
}

export type DemandReader = ReturnType<typeof demandReader>

type DemandReaderOptions = {
  /** Reads the demand on all pools. */
  readonly read: () => Promise<Map<string, PoolDemand>>
  readonly logger: Logger
  readonly clock?: Clock
  readonly waitMs?: number
}

/** Passes within a quarter of a second share a statement: at most four a second, however many pools there are. */
const sharedMs = 250
/** A pass waits this long. The answer of a statement that takes longer goes to the next pass. */
const defaultWaitMs = 2_000
/** Pause after a failure. */
const restMs = 1_000

export function demandReader(options: DemandReaderOptions) {
  const { read, logger, clock = systemClock, waitMs = defaultWaitMs } = options
  const readings = new Map<string, DemandReading>()
  let askedAt = Number.NEGATIVE_INFINITY
  let failure: string | undefined
  let asking: Promise<void> | undefined

  async function ask(): Promise<void> {
    const atMs = clock.monotonicMs()
    const at = new Date(clock.nowMs())
    askedAt = atMs
    try {
      const found = await read()
      for (const pool of readings.keys()) if (!found.has(pool)) readings.delete(pool)
      for (const [pool, demand] of found) readings.set(pool, { demand, atMs, at })
      failure = undefined
    } catch (error) {
      if (failure === undefined) logger.warn({ err: error }, 'the demand could not be read')
      failure = error instanceof Error ? error.message : String(error)
    }
  }

  /** Milliseconds until `latest` would read again. */
  const freshInMs = (): number =>
    Math.max(0, askedAt + (failure === undefined ? sharedMs : restMs) - clock.monotonicMs())

  function start(): void {
    asking ??= ask().finally(() => {
      asking = undefined
    })
  }

  const settle = async (): Promise<void> => asking && settledWithin(asking, waitMs)

  // A pool that was created since the last statement cannot wait for a shared one.
  const isMissing = (pool: string): boolean => failure === undefined && !readings.has(pool)

  return {
    freshInMs,
    /** The demand on a pool: a new reading, or the last one when there is none in time. */
    latest: async (pool: string) => {
      if (freshInMs() === 0 || isMissing(pool)) start()
      await settle()
      // A statement that was running when the pool was created does not cover it; no demand would look like an outage.
      if (asking === undefined && isMissing(pool)) {
        start()
        await settle()
      }
      const waiting = asking === undefined ? undefined : `no answer within ${waitMs / 1_000} s`
      return { reading: readings.get(pool), failure: failure ?? waiting }
    },
  }
}
