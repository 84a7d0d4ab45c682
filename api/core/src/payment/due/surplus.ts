// Whoever has paid gets what was paid for, also where the order had been canceled meanwhile. Of two subscriptions that
// would then both be charged each month the first stays; the other is ended at the provider and paid back whole.
import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { beginApplying } from '../apply/apply-facts.ts'
import { findLeft } from '../apply/credits-left.ts'
import { insertRefund, refundableOf } from '../apply/insert-refund.ts'
import { creditsForRefund } from '../apply/refund-share.ts'
import type { PaymentDeps } from '../payment-deps.ts'
import type { OrderRow } from '../rows/order-queries.ts'
import { findSubscriptionBy } from '../rows/subscription-queries.ts'
import { endAtProvider } from '../subscriptions.ts'

type Looked = { readonly id: string; readonly workspaceId: string }

/**
 * Ends a subscription that lives beside an earlier one. The refunds come first, which the dispatcher pays; should the
 * process die before the end, the next look finds them made.
 */
export async function endSurplus(deps: PaymentDeps, { id, workspaceId }: Looked): Promise<void> {
  const surplus = await deps.db.transaction().execute(async (tx) => {
    const applying = await beginApplying(tx, deps, workspaceId)
    if (!(await livesBesideEarlier(tx, { id, provider: deps.provider.name }))) return undefined
    for (const order of await listPaid(tx, id)) {
      const left = await findLeft(applying, order)
      const amount = order.amount - order.refunded_amount
      const credits = Math.min(left.ofLot + left.toCome, creditsForRefund(refundableOf(order, left), amount))
      const reason = 'Paid beside a subscription that the workspace had'
      await insertRefund(applying, order, { amount, credits, left, reason, createdBy: null, providerRefundId: null })
    }
    return findSubscriptionBy(tx, 'id', id)
  })
  if (surplus !== undefined) await endAtProvider(deps, surplus)
}

/** By when they were first paid, as the provider says: the same whatever we heard of first. */
async function livesBesideEarlier(tx: Db, { id, provider }: { id: string; provider: string }): Promise<boolean> {
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
