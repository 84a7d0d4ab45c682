import { grantCredits } from '../../credit/lot-queries.ts'
import { grantPlanCredits } from '../../credit/plan-grant.ts'
import { publishEvent } from '../../notification/publish-event.ts'
import type { InvoiceFacts } from '../provider/provider.ts'
import { findOrderBy, insertOrder, type OrderRow, updateOrder } from '../rows/order-queries.ts'
import type { SubscriptionRow } from '../rows/subscription-queries.ts'
import { closeOrder, isOpen, markPaid } from './apply-order.ts'
import type { Applying } from './applying.ts'
import { creditsOf } from './windows.ts'

type Charged = {
  readonly facts: InvoiceFacts
  readonly subscription: SubscriptionRow
  /** What the subscription began with. */
  readonly first: OrderRow
  /** A charge of it failed, so there is something to show though nothing was paid. */
  readonly failed: boolean
}

/**
 * A charge of a subscription. Its first belongs to the order; each later one is an order of its own, so that it can be
 * listed and refunded. Undefined: nothing was charged yet.
 */
export async function applyInvoice(applying: Applying, charged: Charged): Promise<OrderRow | undefined> {
  const { facts, subscription, first, failed } = charged
  if (facts.status !== 'paid' && !failed) {
    const known = await findOrderBy(applying.tx, 'provider_invoice_id', facts.id)
    if (facts.status === 'void' && known !== undefined && isOpen(known)) await closeOrder(applying.tx, known.id)
    return known
  }
  const order = facts.reason === 'purchase' ? first : await laterOrder(applying, charged)
  if (facts.status !== 'paid') return order
  const paidAt = facts.paidAt ?? applying.now
  const paid = await markPaid(applying, order, { ...facts, paidAt })
  if (paid === undefined) return order
  await updateOrder(applying.tx, order.id, { provider_invoice_id: facts.id, subscription_id: subscription.id })
  if (!facts.creditsOnly) await grantFirst(applying, order, { facts, subscription })
  await publishRenewed(applying, order, facts)
  return order
}

async function laterOrder(applying: Applying, { facts, subscription }: Charged): Promise<OrderRow> {
  const { tx, workspaceId, provider, plans } = applying
  const { plan, interval } = facts.bought
  const inserted = await insertOrder(tx, {
    workspace_id: workspaceId,
    created_by: null,
    kind: 'subscription',
    reason: facts.reason,
    description: describe(facts),
    plan,
    billing_interval: interval,
    credits: facts.creditsOnly ? 0 : creditsOf({ ...facts.bought, unused: facts.unused }, plans).total,
    amount: facts.amount,
    currency: facts.currency,
    provider,
    provider_invoice_id: facts.id,
    subscription_id: subscription.id,
  })
  const order = inserted ?? (await findOrderBy(tx, 'provider_invoice_id', facts.id))
  if (order === undefined) throw new Error('the order of a charge was not stored')
  return order
}

function describe({ reason, creditsOnly, bought: { plan, interval } }: InvoiceFacts): string {
  const what = creditsOnly ? 'Credit for plan' : reason === 'change' ? 'Change to plan' : 'Plan'
  return `${what} ${plan} by the ${interval}`
}

type Granted = Pick<Charged, 'facts' | 'subscription'>

/** What was paid for, and the credits of its first month. */
async function grantFirst(applying: Applying, order: OrderRow, { facts, subscription }: Granted): Promise<void> {
  const { tx, workspaceId, plans } = applying
  const { bought, unused, id: invoiceId } = facts
  const { plan, interval: billing_interval, startsAt: starts_at, endsAt: ends_at } = bought
  const { first, month, nextAt } = creditsOf({ ...bought, unused }, plans)
  await tx
    .insertInto('subscription_period')
    .values({
      ...{ provider_invoice_id: invoiceId, subscription_id: subscription.id, order_id: order.id },
      ...{ plan, billing_interval, starts_at, ends_at, grant_at: nextAt },
      ...{ from_plan: unused?.plan ?? null, from_end: unused?.endsAt ?? null },
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const lotId =
    unused === null
      ? await grantPlanCredits(tx, { workspaceId, plan, credits: first, period: month })
      : await grantChange(applying, { amount: first, expiresAt: month.end, source: `change:${invoiceId}` })
  await updateOrder(tx, order.id, { lot_id: lotId ?? null })
}

type ChangeGrant = { readonly amount: number; readonly expiresAt: Date; readonly source: string }

async function grantChange({ tx, workspaceId }: Applying, grant: ChangeGrant): Promise<string | undefined> {
  if (grant.amount === 0) return undefined
  return (await grantCredits(tx, { workspaceId, kind: 'plan', ...grant }))?.lotId
}

/** `payment.succeeded` is published with the payment, `subscription.updated` with the plan. */
async function publishRenewed({ tx, workspaceId }: Applying, order: OrderRow, { reason, bought }: InvoiceFacts) {
  if (reason !== 'renewal') return
  const { plan, endsAt } = bought
  const end = endsAt.toISOString()
  const fields = { plan_name: plan, period_end: end, message: `${plan} is renewed until ${end.slice(0, 10)}.` }
  await publishEvent(tx, { event: 'subscription.renewed', fields, key: order.id, workspaceId, userId: null })
}
