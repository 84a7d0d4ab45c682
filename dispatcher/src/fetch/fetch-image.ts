// One image by URL: download, store, record. A crash leaves the claim to expire. Nobody waits for the row any more when
// a record matches nothing; the sweep of unused uploads then deletes the object.

import type { Db } from '@matte/core/db/database'
import { type ClaimedFetch, endFetch, type FetchEnd } from '@matte/core/upload/fetch/fetch-queries'
import type { Logger } from 'pino'
import type { Downloaded, Downloader } from '../egress/download.ts'
import type { FetchMetrics } from './fetch-metrics.ts'
import type { StoreUpload } from './store-upload.ts'

export type FetchImageDeps = {
  readonly db: Db
  readonly downloader: Pick<Downloader, 'download'>
  readonly store: StoreUpload
  readonly metrics: FetchMetrics
  readonly logger: Logger
}

/** One attempt; it never rejects. */
export async function fetchImage(deps: FetchImageDeps, fetch: ClaimedFetch, signal: AbortSignal): Promise<void> {
  const { db, metrics } = deps
  // The path and query may contain tokens.
  const log = deps.logger.child({
    fetch_id: fetch.id,
    workspace_id: fetch.workspaceId,
    host: URL.parse(fetch.url)?.host,
  })
  const endTimer = metrics.duration.startTimer()
  try {
    const { end, cause } = await attempt(deps, fetch, signal)
    const isRecorded = await endFetch(db, fetch, end)
    metrics.ended.inc({ outcome: isRecorded ? end.outcome : 'LOST' })
    const reason = cause instanceof Error ? { reason: cause.message } : {}
    log.info(
      { outcome: end.outcome, recorded: isRecorded, taken_over: fetch.takenOver, ...reason },
      'image fetched by URL',
    )
  } catch (error) {
    if (!signal.aborted) log.error({ err: error }, 'fetch of an image not recorded')
  } finally {
    endTimer()
  }
}

type Attempt = { readonly end: FetchEnd; readonly cause?: unknown }

async function attempt(
  { downloader, store }: FetchImageDeps,
  fetch: ClaimedFetch,
  signal: AbortSignal,
): Promise<Attempt> {
  const { url, uploadUrl, maxBytes } = fetch
  const image: Downloaded = await downloader.download({ url, maxBytes, signal })
  if ('failure' in image) {
    return { end: { outcome: image.failure, statusCode: image.statusCode }, cause: image.cause }
  }
  const { sizeBytes, contentType } = image
  try {
    await store.put(uploadUrl, image, signal)
  } catch (error) {
    signal.throwIfAborted()
    return { end: { outcome: 'STORE_FAILED' }, cause: error }
  }
  return { end: { outcome: 'STORED', contentType, sizeBytes } }
}
