// Applies facts under the lock of the workspace's row, with the same result in any order and after repetitions (D72).
import type { Db } from '@matte/core/db/database'
import { findOrderBy, type OrderRow } from '../order-queries.ts'
import type { PaymentDeps } from '../payment-deps.ts'
import type { Facts, ProviderEvent } from '../provider/provider.ts'
import { type ApplyContext, lockForApply } from './apply-context.ts'
import { applyDispute } from './apply-dispute.ts'
import { applyInvoice } from './apply-invoice.ts'
import { applyOrder, recordFailure } from './apply-order.ts'
import { applyRefund } from './apply-refund.ts'
import { announceSeen, applySubscription } from './apply-subscription.ts'
import { refreshPlan } from './plan-in-force.ts'

type Input = {
  readonly facts: Facts
  /** Sequence number taken before the facts were read. */
  readonly reading: number
  readonly event?: Pick<ProviderEvent, 'id' | 'about' | 'failure'>
}

/** Returns the workspace of the facts; undefined if they concern no order of this installation. */
export async function applyFacts(tx: Db, deps: PaymentDeps, input: Input): Promise<string | undefined> {
  const found = await findRootOrder(tx, input)
  if (found === undefined) return undefined
  const context = await lockForApply(tx, deps, found.workspace_id)
  const order = await findOrderBy(tx, 'id', found.id)
  if (order === undefined) return undefined
  const { facts } = input
  if (facts.fingerprint !== undefined) await savePaymentFingerprint(context, facts.fingerprint)
  if (facts.order !== undefined) await applyOrder(context, order, facts.order)
  const charged = await applySubscribed(context, order, input)
  if (facts.refund !== undefined) {
    const refunded = await findOrderBy(tx, 'payment_id', facts.refund.paymentId)
    if (refunded !== undefined) await applyRefund(context, refunded, facts.refund)
  }
  if (facts.dispute !== undefined) {
    const disputed = await findOrderBy(tx, 'payment_id', facts.dispute.paymentId)
    if (disputed !== undefined) await applyDispute(context, disputed, { facts: facts.dispute, reading: input.reading })
  }
  if (input.event?.failure != null) {
    const failed = (await findOrderBy(tx, 'id', (charged ?? order).id)) ?? order
    await recordFailure(context, failed, { failure: input.event.failure, key: input.event.id })
  }
  return context.workspaceId
}

/** Referrals compare fingerprints to find two accounts of one payer. */
const savePaymentFingerprint = ({ tx, workspaceId }: ApplyContext, fingerprint: string) =>
  tx
    .updateTable('workspace')
    .set({ payment_fingerprint: fingerprint })
    .where('id', '=', workspaceId)
    .where('payment_fingerprint', 'is distinct from', fingerprint)
    .execute()

async function findRootOrder(tx: Db, { facts, event }: Input): Promise<OrderRow | undefined> {
  const { order, subscription, invoice, refund, dispute } = facts
  const id = order?.orderId ?? subscription?.orderId ?? invoice?.orderId ?? orderOf(event)
  if (id !== undefined) return isUuid(id) ? findOrderBy(tx, 'id', id) : undefined
  const paymentId = refund?.paymentId ?? dispute?.paymentId
  return paymentId === undefined ? undefined : findOrderBy(tx, 'payment_id', paymentId)
}

const orderOf = (event: Input['event']): string | undefined =>
  event?.about?.kind === 'order' ? event.about.id : undefined

/** Another application of the same account may use other ids. */
const isUuid = (text: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)

async function applySubscribed(context: ApplyContext, first: OrderRow, { facts, reading, event }: Input) {
  if (facts.subscription === undefined) return undefined
  const { before, after } = await applySubscription(context, { facts: facts.subscription, reading })
  const failed = event?.failure != null
  const charged =
    facts.invoice && (await applyInvoice(context, { facts: facts.invoice, subscription: after, first, failed }))
  await refreshPlan(context)
  await announceSeen(context, { before, after, isCharged: facts.invoice !== undefined })
  return charged
}
