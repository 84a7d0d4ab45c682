import type { Db } from '@matte/core/db/database'
import type { Loop } from '@matte/core/runtime/loop'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { judgeFailing } from '@matte/core/webhook/failing/judge-failing'
import type { Logger } from 'pino'
import { dueParts } from './due-parts.ts'

type FailingEndpointsDeps = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly logger: Logger
}

/** It is a matter of days. */
const everyMs = 60_000

/** Notices of webhook endpoints that fail, and their end (D65). */
export const failingEndpointsLoop = ({ db, masterKeys, logger }: FailingEndpointsDeps): Loop =>
  dueParts({
    name: 'failing-endpoints',
    everyMs,
    parts: { failing_endpoints: (pass) => judgeFailing(db, masterKeys, pass) },
    wake: () => undefined,
    logger,
  })
