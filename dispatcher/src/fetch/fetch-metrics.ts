import { counter, gauge, histogram } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'

const outcomes = [
  ...(['STORED', 'UNREACHABLE', 'STATUS', 'TIMEOUT', 'TOO_LARGE', 'NO_IMAGE'] as const),
  ...(['STORE_FAILED', 'LOST'] as const),
]

/** Listed in docs/metrics.md. */
export const fetchMetrics = {
  ended: counter({
    name: 'matte_upload_fetches_total',
    reader: 'product',
    help: 'Images fetched by URL, by outcome; absent without UPLOADS_FETCH_URLS. LOST: the caller had left, or another dispatcher took the fetch over.',
    labels: { outcome: outcomes },
  }),
  duration: histogram({
    name: 'matte_upload_fetch_duration_seconds',
    reader: 'saturation',
    help: 'Time of one image by URL, from the claim to the stored object; absent without UPLOADS_FETCH_URLS.',
  }),
  inFlight: gauge({
    name: 'matte_upload_fetches_in_flight',
    reader: 'saturation',
    help: 'Images that this process is fetching by URL; absent without UPLOADS_FETCH_URLS.',
  }),
}

export type FetchMetrics = ReturnType<typeof createFetchMetrics>

export const createFetchMetrics = (registry: Registry) => ({
  ended: fetchMetrics.ended.register(registry),
  duration: fetchMetrics.duration.register(registry),
  inFlight: fetchMetrics.inFlight.register(registry),
})
