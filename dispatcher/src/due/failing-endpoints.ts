import type { Db } from '@matte/core/db/database'
import type { Loop } from '@matte/core/runtime/loop'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { dropPaused } from '@matte/core/webhook/delivery/drop-paused'
import { judgeFailing } from '@matte/core/webhook/failing/judge-failing'
import type { Logger } from 'pino'
import { dueParts } from './due-parts.ts'
import type { EndpointMetrics } from './endpoint-metrics.ts'

type FailingEndpointsDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly metrics: EndpointMetrics
  readonly logger: Logger
}

/** Failing is a matter of days; the bound of paused deliveries is passed by what comes in this time. */
const everyMs = 60_000

/** Notices of webhook endpoints that fail, and their end (D65); the bound of what is kept for disabled ones (A150). */
export const failingEndpointsLoop = ({ db, masterKeys, metrics, logger }: FailingEndpointsDeps): Loop =>
  dueParts({
    name: 'failing-endpoints',
    everyMs,
    parts: {
      failing_endpoints: (pass) => judgeFailing(db, masterKeys, pass),
      dropped_deliveries: async (pass) => {
        const dropped = await dropPaused(db, pass)
        metrics.dropped.inc(dropped)
        return dropped
      },
    },
    wake: () => undefined,
    logger,
  })
