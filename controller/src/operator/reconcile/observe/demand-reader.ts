// The demand of all pools, read together: whoever of them looks first has one statement run, and the others take what it
// found. A database that is away costs each look a bounded wait, and leaves the last figures, which grow old.

import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { settledWithin } from '@matte/core/runtime/race'
import type { PoolDemand } from '@matte/core/scale/demand-queries'
import type { Logger } from 'pino'

export type DemandReading = {
  readonly demand: PoolDemand
  /** When it was asked for, by the monotonic clock, and by the wall clock for people. */
  readonly atMs: number
  readonly at: Date
}

export type DemandReader = {
  /** The figures of a pool: new ones, or the last ones when there are no new ones in time. */
  latest(pool: string): Promise<{ readonly reading: DemandReading | undefined; readonly failure: string | undefined }>
  /** Milliseconds until a look would find new figures. */
  freshInMs(): number
}

export type DemandReaderOptions = {
  /** Reads all pools that there are. */
  readonly read: () => Promise<Map<string, PoolDemand>>
  readonly logger: Logger
  readonly clock?: Clock
  readonly waitMs?: number
}

/** Looks within a quarter of a second share a statement: at most four a second, whatever the number of pools. */
const sharedMs = 250
/** A look is worth a second; a statement that takes longer is answered to the next one. */
const defaultWaitMs = 2_000
/** After a failure the database is left alone for a tick. */
const restMs = 1_000

export function demandReader(options: DemandReaderOptions): DemandReader {
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

  const freshInMs = (): number =>
    Math.max(0, askedAt + (failure === undefined ? sharedMs : restMs) - clock.monotonicMs())

  function start(): void {
    asking ??= ask().finally(() => {
      asking = undefined
    })
  }

  async function settle(): Promise<void> {
    if (asking === undefined) return
    await settledWithin(asking, waitMs)
  }

  // A pool that was made since the last statement cannot wait for a shared one.
  const isMissing = (pool: string): boolean => failure === undefined && !readings.has(pool)

  return {
    freshInMs,
    latest: async (pool) => {
      if (freshInMs() === 0 || isMissing(pool)) start()
      await settle()
      // What was under way when the pool was made does not know of it, and no figures would look like a fault.
      if (asking === undefined && isMissing(pool)) {
        start()
        await settle()
      }
      const waiting = asking === undefined ? undefined : `no answer within ${waitMs / 1_000} s`
      return { reading: readings.get(pool), failure: failure ?? waiting }
    },
  }
}
