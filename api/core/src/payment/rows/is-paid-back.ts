import type { Db } from '../../db/database.ts'
import { findOrderBy } from './order-queries.ts'
import type { PeriodRow, SubscriptionRow } from './subscription-queries.ts'

/**
 * Whether the payment for the subscription's latest period was paid back whole. False while the provider has begun a
 * newer period whose payment is not stored yet.
 */
export async function isPaidBack(
  db: Db,
  { status, period_start }: Pick<SubscriptionRow, 'status' | 'period_start'>,
  { order_id, ends_at }: Pick<PeriodRow, 'order_id' | 'ends_at'>,
): Promise<boolean> {
  if (status === 'active' && period_start >= ends_at) return false
  return (await findOrderBy(db, 'id', order_id))?.status === 'refunded'
}
