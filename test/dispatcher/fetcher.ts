// The dispatcher's part that fetches images by URL, in this process, wired as in services.ts, with a small internet.
import type { Db } from '@matte/core/db/database'
import { createRegistry } from '@matte/core/runtime/metrics/registry'
import { createDownloader } from '@matte/dispatcher/egress/download'
import { fetchImage } from '@matte/dispatcher/fetch/fetch-image'
import { fetchLoop } from '@matte/dispatcher/fetch/fetch-loop'
import { createFetchMetrics } from '@matte/dispatcher/fetch/fetch-metrics'
import { storeUpload } from '@matte/dispatcher/fetch/store-upload'
import { pino } from 'pino'
import { processDb } from '../support/roles.ts'
import type { Receiver } from './receiver.ts'
import { internetOf, publicAddress } from './small-internet.ts'

export type Fetcher = {
  readonly lines: readonly Readonly<Record<string, unknown>>[]
  metrics(): Promise<string>
  stop(): Promise<void>
}

/** Every name but `inside.example` is public and is served by this receiver. */
export async function startFetcher(owner: Db, receiver: Receiver): Promise<Fetcher> {
  const db = processDb('dispatcher', owner)
  const registry = createRegistry('dispatcher')
  const metrics = createFetchMetrics(registry)
  const lines: Readonly<Record<string, unknown>>[] = []
  const logger = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const resolve = async (host: string): Promise<string[]> => [host === 'inside.example' ? '10.0.0.1' : publicAddress]
  const timeoutMs = 10_000
  const downloader = createDownloader({ deniedNetworks: [], timeoutMs, resolve, dial: internetOf(receiver).dial })
  const store = storeUpload()
  const deps = { db, downloader, store, metrics, logger }
  const loop = fetchLoop({
    db,
    fetchImage: (fetch, signal) => fetchImage(deps, fetch, signal),
    timeoutMs,
    finishWithinMs: 1_000,
    metrics,
    logger,
  })
  await loop.start()
  return {
    lines,
    metrics: () => registry.metrics(),
    stop: async () => {
      await loop.stop()
      await downloader.close()
      await store.close()
    },
  }
}
