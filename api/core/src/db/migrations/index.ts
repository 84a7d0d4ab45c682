import type { Migration } from 'kysely/migration'
import * as init from './0001-init.ts'
import * as batch from './0002-batch.ts'
import * as retention from './0003-retention.ts'
import * as rateLimit from './0004-rate-limit.ts'
import * as idempotencyOutput from './0005-idempotency-output.ts'
import * as webhookEndpoint from './0006-webhook-endpoint.ts'
import * as hotRows from './0007-hot-rows.ts'
import * as scale from './0008-scale.ts'

/** Static on purpose: a folder read at run time differs between a checkout, an image and a test. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001-init': init,
  '0002-batch': batch,
  '0003-retention': retention,
  '0004-rate-limit': rateLimit,
  '0005-idempotency-output': idempotencyOutput,
  '0006-webhook-endpoint': webhookEndpoint,
  '0007-hot-rows': hotRows,
  '0008-scale': scale,
}
