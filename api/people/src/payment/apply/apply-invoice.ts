import { grantCredits } from '@matte/core/credit/lot-queries'
import { grantPlanCredits } from '@matte/core/credit/plan-grant'
import { publishEvent } from '@matte/core/webhook/publish-event'
import { findOrderBy, insertOrder, type OrderRow, updateOrder } from '../order-queries.ts'
import type { InvoiceFacts } from '../provider/provider.ts'
import type { SubscriptionRow } from '../subscription-queries.ts'
import type { ApplyContext } from './apply-context.ts'
import { closeOrder, isOpen, markPaid } from './apply-order.ts'
import { creditsOf } from './windows.ts'

type Charged = {
  readonly facts: InvoiceFacts
  readonly subscription: SubscriptionRow
  readonly first: OrderRow
  /** A charge failed, so an order is created although nothing was paid. */
  readonly failed: boolean
}

/** Each later charge gets its own order, so it can be listed and refunded. Undefined while nothing has been charged. */
export async function applyInvoice(context: ApplyContext, charged: Charged): Promise<OrderRow | undefined> {
  const { facts, subscription, first, failed } = charged
  if (facts.status !== 'paid' && !failed) {
    const known = await findOrderBy(context.tx, 'provider_invoice_id', facts.id)
    if (facts.status === 'void' && known !== undefined && isOpen(known)) await closeOrder(context.tx, known.id)
    return known
  }
  const order = facts.reason === 'purchase' ? first : await laterOrder(context, charged)
  if (facts.status !== 'paid') return order
  const paidAt = facts.paidAt ?? context.now
  const paid = await markPaid(context, order, { ...facts, paidAt })
  if (paid === undefined) return order
  await updateOrder(context.tx, order.id, { provider_invoice_id: facts.id, subscription_id: subscription.id })
  if (!facts.creditsOnly) await grantFirst(context, order, { facts, subscription })
  await publishRenewed(context, order, facts)
  return order
}

async function laterOrder(context: ApplyContext, { facts, subscription }: Charged): Promise<OrderRow> {
  const { tx, workspaceId, provider, plans } = context
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

async function grantFirst(context: ApplyContext, order: OrderRow, { facts, subscription }: Granted): Promise<void> {
  const { tx, workspaceId, plans } = context
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
      : await grantChange(context, { amount: first, expiresAt: month.end, source: `change:${invoiceId}` })
  await updateOrder(tx, order.id, { lot_id: lotId ?? null })
}

type ChangeGrant = { readonly amount: number; readonly expiresAt: Date; readonly source: string }

async function grantChange({ tx, workspaceId }: ApplyContext, grant: ChangeGrant): Promise<string | undefined> {
  if (grant.amount === 0) return undefined
  return (await grantCredits(tx, { workspaceId, kind: 'plan', ...grant }))?.lotId
}

/** Publishes the renewal; the payment and the plan change publish their own events. */
async function publishRenewed({ tx, workspaceId }: ApplyContext, order: OrderRow, { reason, bought }: InvoiceFacts) {
  if (reason !== 'renewal') return
  const { plan, endsAt } = bought
  const end = endsAt.toISOString()
  const fields = { plan_name: plan, period_end: end, message: `${plan} is renewed until ${end.slice(0, 10)}.` }
  await publishEvent(tx, { event: 'subscription.renewed', fields, key: order.id, workspaceId, userId: null })
}
