import { histogram } from '../runtime/metrics/define.ts'
import type { EdgeMetrics } from '../runtime/metrics/edge-metrics.ts'
import { StorageError } from './storage-error.ts'

const operations = ['head', 'get', 'put', 'open', 'delete', 'list', 'probe'] as const

type StoreOperation = (typeof operations)[number]

export const storeMetrics = {
  duration: histogram({
    name: 'matte_store_request_duration_seconds',
    help:
      'Time of an operation on the object store, including a retry; `open` ends with the response headers. ' +
      '`missing`: no such object; a changed object counts as ok. Excludes presigned URLs and the gateway.',
    labels: { operation: operations, outcome: ['ok', 'missing', 'error'] },
    buckets: [0.005, 0.02, 0.1, 0.5, 1, 5, 30], // a close store takes milliseconds; 30 s is the timeout
    reader: 'saturation',
  }),
}

/** Times an operation. Aborts by `signal` do not count as errors. */
export type StoreObserver = <T>(operation: StoreOperation, act: () => Promise<T>, signal?: AbortSignal) => Promise<T>

export const unobserved: StoreObserver = (_operation, act) => act()

export function observeStore({ registry, failed }: EdgeMetrics): StoreObserver {
  const duration = storeMetrics.duration.register(registry)
  return async (operation, act, signal) => {
    const sinceMs = performance.now()
    const end = (outcome: 'ok' | 'missing' | 'error'): void =>
      duration.observe({ operation, outcome }, (performance.now() - sinceMs) / 1_000)
    try {
      const result = await act()
      end('ok')
      return result
    } catch (error) {
      const answered = error instanceof StorageError && error.kind !== 'unavailable'
      if (answered) end(error.kind === 'missing' ? 'missing' : 'ok')
      else if (!signal?.aborted) {
        end('error')
        failed('store', error)
      }
      throw error
    }
  }
}
