// Reads the demand of all pools in one statement that concurrent passes share. During an outage of the database each
// pass waits for a bounded time and uses the last demand, whose age grows.
import { type Clock, systemClock } from '@matte/core/runtime/clock'
import { settledWithin } from '@matte/core/runtime/race'
import type { PoolDemand } from '@matte/core/scale/demand-queries'
import type { Logger } from 'pino'
import type { TritonPool } from '../../pool/triton-pool.ts'
import type { RequestCounts } from '../../rollout/gate.ts'

export type DemandReading = {
  readonly demand: PoolDemand
  /** Start of the statement by the monotonic clock; `at` by the wall clock, for people. */
  readonly atMs: number
  readonly at: Date
}

export type DemandReader = ReturnType<typeof demandReader>

type DemandReaderOptions = {
  readonly read: () => Promise<Map<string, PoolDemand>>
  readonly logger: Logger
  readonly clock?: Clock
  readonly waitMs?: number
}

/** Passes within 250 ms share a statement: at most four a second for any number of pools. */
const sharedMs = 250
/** Wait of a pass. A slower statement's result goes to the next pass. */
const defaultWaitMs = 2_000
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
      if (failure === undefined) logger.warn({ err: error }, 'reading the demand failed')
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

  const settle = async (): Promise<void> => asking && settledWithin(asking, waitMs)

  // A pool created since the last statement needs a new one.
  const isMissing = (pool: string): boolean => failure === undefined && !readings.has(pool)

  return {
    freshInMs,
    latest: async (pool: string) => {
      if (freshInMs() === 0 || isMissing(pool)) start()
      await settle()
      // A statement that began before the pool was created lacks it, which would look like an outage.
      if (asking === undefined && isMissing(pool)) {
        start()
        await settle()
      }
      const waiting = asking === undefined ? undefined : `no answer within ${waitMs / 1_000} s`
      return { reading: readings.get(pool), failure: failure ?? waiting }
    },
  }
}

type Reading = Pick<DemandReading, 'atMs' | 'demand'>

/** Empty if the reading precedes the step. Status has whole seconds, so the first second does not count. */
export function countsByRevision(
  { status }: Pick<TritonPool, 'status'>,
  reading: Reading | undefined,
  { elapsed, nowMs }: { readonly elapsed: (time: string) => number; readonly nowMs: number },
): ReadonlyMap<string, RequestCounts> {
  const since = status?.rollout?.since
  if (reading === undefined || since === undefined) return new Map()
  if (elapsed(since) - (nowMs - reading.atMs) / 1000 < 1) return new Map()
  return new Map(reading.demand.perRevision.map((counts) => [counts.revision, counts]))
}
