import { counter } from '@matte/core/runtime/metrics/define'
import type { Registry } from 'prom-client'

/** All of this file; docs/metrics.md lists them. */
export const endpointMetrics = {
  dropped: counter({
    name: 'matte_deliveries_dropped_total',
    help:
      'Paused deliveries that were deleted, the oldest first, because one disabled webhook endpoint had more than ' +
      '100,000.',
    reader: 'product',
  }),
}

export type EndpointMetrics = ReturnType<typeof createEndpointMetrics>

export const createEndpointMetrics = (registry: Registry) => ({
  dropped: endpointMetrics.dropped.register(registry),
})
