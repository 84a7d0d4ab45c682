import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import type { OrderRow } from './order-queries.ts'

/** Whether a payment of the subscription is disputed at present. */
export async function hasOpenDispute(db: Db, subscriptionId: string): Promise<boolean> {
  const disputed = await db
    .selectFrom('payment_order')
    .select('id')
    .where('subscription_id', '=', subscriptionId)
    .where('dispute', '=', 'open')
    .limit(1)
    .executeTakeFirst()
  return disputed !== undefined
}

/** @throws MatteError CONFLICT */
export function refuseDisputed({ dispute }: Pick<OrderRow, 'dispute'>): void {
  if (dispute !== 'open' && dispute !== 'lost') return
  const why =
    dispute === 'open'
      ? 'The payment is disputed at its bank. Wait for the decision, or withdraw the dispute there.'
      : 'The bank has already returned the payment.'
  throw new MatteError('CONFLICT', why, { details: { dispute } })
}

/** @throws MatteError CONFLICT */
export async function refuseDisputedSubscription(db: Db, subscriptionId: string): Promise<void> {
  if (!(await hasOpenDispute(db, subscriptionId))) return
  const message = 'A payment of the subscription is disputed at its bank. Nothing is charged until the decision.'
  throw new MatteError('CONFLICT', message, { details: { dispute: 'open' } })
}
