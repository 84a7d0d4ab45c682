import type { Db } from '@matte/core/db/database'
import type { Loop } from '@matte/core/runtime/loop'
import { counter } from '@matte/core/runtime/metrics/define'
import { dropPaused } from '@matte/core/webhook/delivery/drop-paused'
import { disableFailingEndpoints, type LockRecipients } from '@matte/core/webhook/endpoint/disable-failing-endpoints'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { dueParts } from './due-parts.ts'

/** Listed in docs/metrics.md. */
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

type FailingEndpointsDeps = {
  readonly db: Db
  readonly lockRecipients: LockRecipients
  readonly metrics: EndpointMetrics
  readonly logger: Logger
}

/** Endpoints fail over days; deliveries of a disabled endpoint can exceed their bound by what arrives in this time. */
const everyMs = 60_000

/** Notifies about failing endpoints and disables them; bounds the deliveries kept for disabled ones. */
export const failingEndpointsLoop = ({ db, lockRecipients, metrics, logger }: FailingEndpointsDeps): Loop =>
  dueParts({
    name: 'failing-endpoints',
    everyMs,
    parts: {
      failing_endpoints: (pass) => disableFailingEndpoints(db, lockRecipients, pass),
      dropped_deliveries: async (pass) => {
        const dropped = await dropPaused(db, pass)
        metrics.dropped.inc(dropped)
        return dropped
      },
    },
    wake: () => undefined,
    logger,
  })
