// Simulated payments and subscription periods of the sandbox. Each step and its events are one transaction.
// Refunds succeed at once; if the order was paid with `failsRefunds`, they fail an hour later.
import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { addMonths } from '../arithmetic.ts'
import type { NewRefund, PricedPlan, RefundFacts } from '../provider.ts'
import { ProviderRefused } from '../provider-errors.ts'
import {
  type CheckoutState,
  checkoutId,
  findPaid,
  type InvoiceState,
  listDisputes,
  listDueObjects,
  lockState,
  newId,
  readState,
  type SandboxOutcome,
  type SubscriptionState,
  sendEvents,
  writeState,
} from './sandbox-state.ts'

const declined = 'The sandbox declined this charge.'
/** Days until a failed renewal is charged again, and failures after which the subscription ends. */
const retryDays = 2
const failuresMax = 3
const dayMs = 24 * 60 * 60 * 1_000

export const monthsOf = ({ interval }: Pick<PricedPlan, 'interval'>): number => (interval === 'year' ? 12 : 1)

/** Returns the positions of the queued events; undefined if the checkout is closed. It stays open after `fail`. */
export function payCheckout(db: Db, orderId: string, step: Step): Promise<readonly number[] | undefined> {
  const { outcome, now } = step
  return db.transaction().execute(async (tx) => {
    const checkout = await lockState(tx, 'checkout', checkoutId(orderId))
    if (checkout?.status !== 'open') return undefined
    await step.audit?.(tx)
    if (outcome === 'fail') {
      const about = { kind: 'order', id: orderId } as const
      return sendEvents(tx, [{ type: 'charge.failed', about, failure: declined }], { outcome, now })
    }
    const subscribed = await subscribe(tx, checkout, step)
    const { failsRefunds = false } = step
    const paid = { status: 'paid', paymentId: newId('payment'), paidAt: now.toISOString(), failsRefunds } as const
    const id = checkoutId(orderId)
    await writeState(tx, { kind: 'checkout', id, state: { ...checkout, ...paid, ...subscribed } })
    return sendEvents(
      tx,
      [
        { type: 'checkout.completed', about: { kind: 'checkout', id } },
        ...(subscribed === undefined
          ? []
          : [
              { type: 'subscription.created', about: { kind: 'subscription', id: subscribed.subscriptionId } as const },
              { type: 'invoice.paid', about: { kind: 'invoice', id: subscribed.invoiceId } as const },
            ]),
      ],
      { outcome, now },
    )
  })
}

type Step = {
  readonly outcome: SandboxOutcome
  /** Later charges of the subscription fail. */
  readonly declines: boolean
  readonly failsRefunds?: boolean | undefined
  readonly now: Date
  readonly audit?: Audit | undefined
}

async function subscribe(tx: Db, { subscription: priced, orderId }: CheckoutState, { outcome, declines, now }: Step) {
  if (priced === null) return undefined
  const subscriptionId = newId('subscription')
  const periodEnd = addMonths(now, monthsOf(priced))
  const state: SubscriptionState = {
    orderId,
    next: priced,
    status: 'active',
    anchor: now.toISOString(),
    periods: 1,
    periodStart: now.toISOString(),
    periodEnd: periodEnd.toISOString(),
    cancelAtPeriodEnd: false,
    endedAt: null,
    failures: 0,
    outcome,
    declines,
  }
  await writeState(tx, { kind: 'subscription', id: subscriptionId, state }, periodEnd)
  const invoiceId = await charge(tx, { subscriptionId, state, reason: 'purchase', paidAt: now })
  return { subscriptionId, invoiceId }
}

type Charge = {
  readonly subscriptionId: string
  readonly state: SubscriptionState
  readonly reason: InvoiceState['reason']
  readonly paidAt: Date | null
  readonly invoiceId?: string
  /** For a plan change: its price and the replaced plan. */
  readonly change?: Pick<InvoiceState, 'amount' | 'unused'> & { readonly startsAt: string }
}

export async function charge(tx: Db, { subscriptionId, state, reason, paidAt, change, invoiceId }: Charge) {
  const { plan, interval, amount, currency } = state.next
  const id = invoiceId ?? newId('invoice')
  const invoice: InvoiceState = {
    id,
    subscriptionId,
    orderId: state.orderId,
    reason,
    status: paidAt === null ? 'open' : 'paid',
    paymentId: paidAt === null ? null : newId('payment'),
    amount: change?.amount ?? amount,
    tax: 0,
    currency,
    paidAt: paidAt?.toISOString() ?? null,
    bought: { plan, interval, startsAt: change?.startsAt ?? state.periodStart, endsAt: state.periodEnd },
    unused: change?.unused ?? null,
    creditsOnly: false,
  }
  await writeState(tx, { kind: 'invoice', id, state: invoice })
  return id
}

/** Renews, retries or ends subscriptions whose period has ended, and fails refunds that are due to fail. */
export async function advancePeriods(db: Db, { now, limit }: { now: Date; limit: number }): Promise<number> {
  let passed = 0
  for (const { id, kind } of await listDueObjects(db, now, limit)) {
    await db.transaction().execute(async (tx) => {
      if (kind === 'refund') passed += await failDueRefund(tx, id, now)
      const state = await lockState(tx, 'subscription', id)
      if (state === undefined || state.status === 'canceled' || !isDue(state, now)) return
      await (state.cancelAtPeriodEnd ? endAt(tx, id, { state, at: new Date(state.periodEnd) }) : renew(tx, id, state))
      passed += 1
    })
  }
  return passed
}

/** Checked under the lock: another process may have advanced the subscription. */
const isDue = (state: SubscriptionState, now: Date): boolean => dueAt(state) <= now

const dueAt = ({ periodEnd, failures }: SubscriptionState): Date =>
  new Date(Date.parse(periodEnd) + failures * retryDays * dayMs)

export async function endAt(tx: Db, id: string, { state, at }: { state: SubscriptionState; at: Date }): Promise<void> {
  const ended: SubscriptionState = { ...state, status: 'canceled', endedAt: at.toISOString() }
  await writeState(tx, { kind: 'subscription', id, state: ended })
  const about = { kind: 'subscription', id } as const
  await sendEvents(tx, [{ type: 'subscription.ended', about }], { outcome: state.outcome, now: at })
}

async function renew(tx: Db, id: string, state: SubscriptionState): Promise<void> {
  const { outcome, failures, declines } = state
  const at = dueAt(state)
  const invoiceId = `sandbox_invoice_${id}_${Date.parse(state.periodEnd)}`
  const next = nextPeriod(state)
  const about = { kind: 'invoice', id: invoiceId } as const
  if (declines) {
    if (failures === failuresMax) return endAt(tx, id, { state, at })
    const failed: SubscriptionState = { ...state, status: 'past_due', failures: failures + 1 }
    await charge(tx, { subscriptionId: id, state: next, reason: 'renewal', paidAt: null, invoiceId })
    await writeState(tx, { kind: 'subscription', id, state: failed }, dueAt(failed))
    await sendEvents(tx, [{ type: 'invoice.failed', about, failure: declined }], { outcome, now: at })
    return
  }
  await charge(tx, { subscriptionId: id, state: next, reason: 'renewal', paidAt: at, invoiceId })
  await writeState(tx, { kind: 'subscription', id, state: next }, dueAt(next))
  const events = [
    { type: 'subscription.updated', about: { kind: 'subscription', id } as const },
    { type: 'invoice.paid', about },
  ]
  await sendEvents(tx, events, { outcome, now: at })
}

function nextPeriod(state: SubscriptionState): SubscriptionState {
  const periods = state.periods + 1
  const periodEnd = addMonths(new Date(state.anchor), periods * monthsOf(state.next)).toISOString()
  return { ...state, periods, status: 'active', failures: 0, periodStart: state.periodEnd, periodEnd }
}

const refundFailsAfterMs = 60 * 60 * 1_000

export async function refundPayment(db: Db, { refundId, paymentId, amount }: NewRefund, now: Date) {
  const id = `sandbox_refund_${refundId}`
  const made = await readState(db, 'refund', id)
  if (made !== undefined) return made
  if ((await listDisputes(db, paymentId)).some(({ status }) => status === 'needs_response' || status === 'lost')) {
    throw new ProviderRefused('The charge is disputed.')
  }
  const state: RefundFacts = { id, refundId, paymentId, amount, status: 'succeeded', failure: null }
  const failsAt = (await failsRefunds(db, paymentId)) ? new Date(now.getTime() + refundFailsAfterMs) : null
  await db.transaction().execute(async (tx) => {
    await writeState(tx, { kind: 'refund', id, state }, failsAt)
    const about = { kind: 'refund', id } as const
    await sendEvents(tx, [{ type: 'refund.succeeded', about }], { outcome: 'succeed', now })
  })
  return state
}

async function failsRefunds(db: Db, paymentId: string): Promise<boolean> {
  const paid = await findPaid(db, paymentId)
  if (paid === undefined) return false
  const orderId = (await readState(db, paid.kind, paid.id))?.orderId
  return orderId !== undefined && (await readState(db, 'checkout', checkoutId(orderId)))?.failsRefunds === true
}

export async function failDueRefund(tx: Db, id: string, now: Date): Promise<number> {
  const state = await lockState(tx, 'refund', id)
  if (state?.status !== 'succeeded') return 0
  await writeState(tx, { kind: 'refund', id, state: { ...state, status: 'failed', failure: 'The account is closed.' } })
  const about = { kind: 'refund', id } as const
  await sendEvents(tx, [{ type: 'refund.failed', about }], { outcome: 'succeed', now })
  return 1
}
