import type { Db } from '@matte/core/db/database'
import { findAttemptedDeliveries, type ShownDelivery } from '@matte/core/webhook/delivery/read-delivery'
import type { Logger } from 'pino'
import { type RowWaits, rowWaits } from './row-waits.ts'

export type AttemptWaits = RowWaits<ShownDelivery>

/** Callers that wait for the first attempt of a test delivery (D68). */
export const attemptWaits = (db: Db, logger: Logger): AttemptWaits =>
  rowWaits({ name: 'attempt-waits', read: (ids) => findAttemptedDeliveries(db, ids), logger })
