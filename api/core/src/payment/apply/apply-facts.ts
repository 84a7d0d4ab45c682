// What a provider says, applied in one transaction: the workspace's row is locked first, then each fact is applied by
// rules that give the same end whatever the order, and however often (D72).

import type { Db } from '../../db/database.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import type { PaymentDeps } from '../payment-deps.ts'
import type { Facts, ProviderEvent } from '../provider/provider.ts'
import { findOrderBy, type OrderRow } from '../rows/order-queries.ts'
import { announceSeen } from './announce-next.ts'
import { applyInvoice } from './apply-invoice.ts'
import { applyOrder, noteFailure } from './apply-order.ts'
import { applyRefund } from './apply-refund.ts'
import { applySubscription } from './apply-subscription.ts'
import { type Applying, timeOf } from './applying.ts'
import { refreshPlan } from './plan-in-force.ts'

type Said = {
  readonly facts: Facts
  /** The number that was taken before the facts were read. */
  readonly reading: number
  /** What caused the reading, if a provider's event did. */
  readonly event?: Pick<ProviderEvent, 'id' | 'about' | 'failure'>
}

/** Returns the workspace that the facts concern; undefined if they concern no order of this installation. */
export async function applyFacts(tx: Db, deps: PaymentDeps, said: Said): Promise<string | undefined> {
  const found = await findTheOrder(tx, said)
  if (found === undefined) return undefined
  const applying = await beginApplying(tx, deps, found.workspace_id)
  // Again, now that nobody else changes it.
  const order = await findOrderBy(tx, 'id', found.id)
  if (order === undefined) return undefined
  const { facts } = said
  if (facts.fingerprint !== undefined) await noteInstrument(applying, facts.fingerprint)
  if (facts.order !== undefined) await applyOrder(applying, order, facts.order)
  const charged = await applySubscribed(applying, order, said)
  if (facts.refund !== undefined) {
    const refunded = await findOrderBy(tx, 'payment_id', facts.refund.paymentId)
    if (refunded !== undefined) await applyRefund(applying, refunded, facts.refund)
  }
  if (said.event?.failure != null) {
    const failed = (await findOrderBy(tx, 'id', (charged ?? order).id)) ?? order
    await noteFailure(applying, failed, { failure: said.event.failure, key: said.event.id })
  }
  return applying.workspaceId
}

export async function beginApplying(tx: Db, deps: PaymentDeps, workspaceId: string): Promise<Applying> {
  await lockWorkspace(tx, workspaceId)
  const { provider, plans, seller, metrics } = deps
  return { tx, provider: provider.name, plans, seller, metrics, workspaceId, now: await timeOf(tx, deps) }
}

/** By it referrals see two that pay with one instrument (api/core/src/referral). */
const noteInstrument = ({ tx, workspaceId }: Applying, fingerprint: string) =>
  tx
    .updateTable('workspace')
    .set({ payment_fingerprint: fingerprint })
    .where('id', '=', workspaceId)
    .where('payment_fingerprint', 'is distinct from', fingerprint)
    .execute()

/** The order that everything else hangs on. */
async function findTheOrder(tx: Db, { facts, event }: Said): Promise<OrderRow | undefined> {
  const { order, subscription, invoice, refund } = facts
  const id = order?.orderId ?? subscription?.orderId ?? invoice?.orderId ?? orderOf(event)
  if (id !== undefined) return isUuid(id) ? findOrderBy(tx, 'id', id) : undefined
  return refund && findOrderBy(tx, 'payment_id', refund.paymentId)
}

const orderOf = (event: Said['event']): string | undefined =>
  event?.about?.kind === 'order' ? event.about.id : undefined

/** Another application of the same account may write what it likes where our ids are. */
const isUuid = (text: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)

/** Answers the order of the charge, where there is one. */
async function applySubscribed(applying: Applying, first: OrderRow, { facts, reading, event }: Said) {
  if (facts.subscription === undefined) return undefined
  const { before, after } = await applySubscription(applying, { facts: facts.subscription, reading })
  const failed = event?.failure != null
  const charged =
    facts.invoice && (await applyInvoice(applying, { facts: facts.invoice, subscription: after, first, failed }))
  await refreshPlan(applying)
  await announceSeen(applying, { before, after, isCharged: facts.invoice !== undefined })
  return charged
}
