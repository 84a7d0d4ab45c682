// Claims images to fetch by URL, as the due loop claims deliveries: on a nudge, when a fetch ends, and every second.
// Slots, and the memory that the images may need, bound what is in flight; separate slots keep webhooks unaffected.
import type { Db } from '@matte/core/db/database'
import { loop } from '@matte/core/runtime/loop'
import type { Service } from '@matte/core/runtime/service'
import { type ClaimedFetch, claimFetches } from '@matte/core/upload/fetch/fetch-queries'
import type { Logger } from 'pino'
import { attemptSlots } from '../attempt-slots.ts'
import type { FetchMetrics } from './fetch-metrics.ts'
import { storeTimeoutMs } from './store-upload.ts'

type FetchLoopOptions = {
  readonly db: Db
  /** Makes one attempt; never rejects. */
  readonly fetchImage: (fetch: ClaimedFetch, signal: AbortSignal) => Promise<void>
  /** Total time of one download. */
  readonly timeoutMs: number
  readonly finishWithinMs: number
  readonly metrics: FetchMetrics
  readonly logger: Logger
}

export type FetchLoop = Service & {
  wake(): void
  untilFree(signal: AbortSignal): Promise<void>
}

/** Bound for lost nudges. */
const everyMs = 1_000
const slots = 16
/** In flight of one workspace over all dispatchers: hanging servers of one caller leave slots for others. */
const perWorkspace = 4
/** Largest sum of image sizes in memory; the chart gives the process 384 MiB. */
const memoryBytes = 160 * 1_048_576
/** Time of a claim beyond download and store, to record the result. */
const claimMarginMs = 2_000

export function fetchLoop({ db, fetchImage, timeoutMs, finishWithinMs, metrics, logger }: FetchLoopOptions): FetchLoop {
  const claimMs = timeoutMs + storeTimeoutMs + claimMarginMs
  let heldBytes = 0

  async function hold(fetch: ClaimedFetch, signal: AbortSignal): Promise<void> {
    heldBytes += fetch.maxBytes
    await fetchImage(fetch, signal)
    heldBytes -= fetch.maxBytes
  }

  const attempts = attemptSlots<ClaimedFetch>({ slots, metrics, deliver: hold, ended: () => inner.wake() })

  async function pass(signal: AbortSignal): Promise<Record<string, number>> {
    const limit = attempts.free()
    if (limit === 0 || signal.aborted) return {}
    const maxBytes = Math.max(0, memoryBytes - heldBytes)
    const idle = limit === slots
    const fetches = await claimFetches(db, { limit, claimMs, perWorkspace, maxBytes, idle })
    for (const fetch of fetches) attempts.begin(fetch)
    return {}
  }

  const inner = loop({ name: 'upload-fetches', everyMs, run: pass, logger })

  return {
    name: inner.name,
    start: inner.start,
    wake: inner.wake,
    untilFree: attempts.untilFree,
    stopTaking: inner.halt,
    stop: async () => {
      await inner.stop()
      await attempts.finish(finishWithinMs)
    },
  }
}
