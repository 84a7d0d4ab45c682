// A late payment can leave two subscriptions. The first stays; the second is refunded and ended at the provider.
import type { Db } from '@matte/core/db/database'
import { sql } from 'kysely'
import { lockForApply } from './apply/apply-context.ts'
import { findAvailable, insertRefund, refundableOf } from './apply/insert-refund.ts'
import { creditsForRefund } from './apply/refund-share.ts'
import type { OrderRow } from './order-queries.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { findSubscriptionBy } from './subscription-queries.ts'
import { endAtProvider } from './subscriptions.ts'

type SubscriptionRef = { readonly id: string; readonly workspaceId: string }

/** The dispatcher pays the refunds. If the process dies before the end, the next check makes no new refunds. */
export async function endDuplicateSubscription(deps: PaymentDeps, { id, workspaceId }: SubscriptionRef): Promise<void> {
  const duplicate = await deps.db.transaction().execute(async (tx) => {
    const context = await lockForApply(tx, deps, workspaceId)
    if (!(await duplicatesEarlier(tx, { id, provider: deps.provider.name }))) return undefined
    for (const order of await listPaid(tx, id)) {
      const left = await findAvailable(context, order)
      const amount = order.amount - order.refunded_amount
      const credits = Math.min(left.ofLot + left.toCome, creditsForRefund(refundableOf(order, left), amount))
      const reason = 'Paid in addition to an existing subscription'
      await insertRefund(context, order, { amount, credits, left, reason, createdBy: null, providerRefundId: null })
    }
    return findSubscriptionBy(tx, 'id', id)
  })
  if (duplicate !== undefined) await endAtProvider(deps, duplicate)
}

/** Orders by first payment at the provider, which does not depend on the order of events. */
async function duplicatesEarlier(tx: Db, { id, provider }: { id: string; provider: string }): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    select s.id from subscription s
     where s.workspace_id = (select workspace_id from subscription where id = ${id})
       and s.ended_at is null and s.provider = ${provider}
       and exists (select from subscription_period where subscription_id = s.id)
     order by (select min(starts_at) from subscription_period where subscription_id = s.id), s.provider_id`.execute(tx)
  return rows.findIndex((row) => row.id === id) > 0
}

const listPaid = (tx: Db, subscriptionId: string): Promise<OrderRow[]> =>
  tx
    .selectFrom('payment_order')
    .selectAll()
    .where('subscription_id', '=', subscriptionId)
    .where('status', 'in', ['paid', 'partially_refunded'])
    .where('payment_id', 'is not', null)
    .whereRef('amount', '>', 'refunded_amount')
    .execute()
