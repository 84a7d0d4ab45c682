// The built-in provider: stored state, and events signed like Stripe's that can fail, repeat or change order.
import type { Db } from '@matte/core/db/database'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { addMonths, shareDown } from '../arithmetic.ts'
import type { Change, Checkout, Facts, NewCheckout, PaymentProvider } from '../provider.ts'
import { ChargeFailed, ProviderRefused } from '../provider-errors.ts'
import { charge, endAt, monthsOf, refundPayment } from './sandbox-life.ts'
import { readCheckout, readInvoice, readSubject, readSubscription } from './sandbox-read.ts'
import { signatureHeader, signCheckout, verifySandboxEvent } from './sandbox-signature.ts'
import { checkoutId, databaseTime, lockState, type SubscriptionState, sendEvents, writeState } from './sandbox-state.ts'

export type SandboxOptions = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  readonly publicUrl: string
  readonly now?: (() => Date) | undefined
}

type Sandbox = Pick<SandboxOptions, 'db' | 'masterKeys' | 'publicUrl'> & { readonly timeOf: () => Promise<Date> }

export function sandboxProvider({ db, masterKeys, publicUrl, now }: SandboxOptions): PaymentProvider {
  const sandbox: Sandbox = { db, masterKeys, publicUrl, timeOf: async () => now?.() ?? databaseTime(db) }
  return {
    name: 'sandbox',
    createCheckout: (checkout) => createCheckout(sandbox, checkout),
    endCheckout: (id) => endCheckout(sandbox, id),
    getOrder: (id) => readCheckout(db, id),
    read: (subject) => readSubject(db, subject),
    refund: async (wanted) => refundPayment(db, wanted, await sandbox.timeOf()),
    changeSubscription: (change) =>
      alter(sandbox, change.subscriptionId, async (tx, state, at) => {
        if (change.when === 'now' && state.declines) throw new ChargeFailed('The sandbox declined this charge.')
        return applyChange(tx, { change, state, at })
      }),
    cancelSubscription: (id) => alter(sandbox, id, endAtPeriodEnd(id, true)),
    resumeSubscription: (id) => alter(sandbox, id, endAtPeriodEnd(id, false)),
    endSubscription: (id) => endSubscription(sandbox, id),
    signatureHeader,
    verifyEvent: (raw, headers) => verifySandboxEvent(masterKeys, raw, headers),
  }
}

const checkoutPath = '/api/v1/app/pages/checkout'

async function createCheckout({ db, masterKeys, publicUrl }: Sandbox, checkout: NewCheckout): Promise<Checkout> {
  const { orderId, amount, currency, subscription } = checkout
  const id = checkoutId(orderId)
  const made = { status: 'open', subscriptionId: null, invoiceId: null, paymentId: null, paidAt: null } as const
  const state = { orderId, amount, currency, subscription, ...made }
  await db
    .insertInto('sandbox_object')
    .values({ id, kind: 'checkout', state: JSON.stringify(state) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return { id, url: `${publicUrl}${checkoutPath}?token=${signCheckout(masterKeys, orderId)}` }
}

const endCheckout = ({ db, timeOf }: Sandbox, id: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const state = await lockState(tx, 'checkout', id)
    if (state?.status !== 'open') return
    await writeState(tx, { kind: 'checkout', id, state: { ...state, status: 'expired' } })
    const about = { kind: 'checkout', id } as const
    await sendEvents(tx, [{ type: 'checkout.expired', about }], { outcome: 'succeed', now: await timeOf() })
  })

/** Returns the id of the invoice paid with the change, if any. */
type Alter = (tx: Db, state: SubscriptionState, at: Date) => Promise<string | undefined>

/** Changes a subscription, queues its events and returns the new facts. */
async function alter({ db, timeOf }: Sandbox, id: string, change: Alter): Promise<Facts> {
  const at = await timeOf()
  const invoiceId = await db.transaction().execute(async (tx) => {
    const state = await lockState(tx, 'subscription', id)
    if (state === undefined || state.status === 'canceled') throw new ProviderRefused('the subscription has ended')
    const invoice = await change(tx, state, at)
    const about = { kind: 'subscription', id } as const
    const events = [
      { type: 'subscription.updated', about },
      ...(invoice ? [{ type: 'invoice.paid', about: { kind: 'invoice', id: invoice } as const }] : []),
    ]
    await sendEvents(tx, events, { outcome: state.outcome, now: at })
    return invoice
  })
  return (invoiceId === undefined ? await readSubscription(db, id) : await readInvoice(db, invoiceId)) ?? {}
}

async function endSubscription({ db, timeOf }: Sandbox, id: string): Promise<Facts> {
  const at = await timeOf()
  await db.transaction().execute(async (tx) => {
    const state = await lockState(tx, 'subscription', id)
    if (state === undefined) throw new ProviderRefused('there is no such subscription')
    if (state.status !== 'canceled') await endAt(tx, id, { state, at })
  })
  return (await readSubscription(db, id)) ?? {}
}

const endAtPeriodEnd =
  (id: string, cancelAtPeriodEnd: boolean): Alter =>
  async (tx, state) => {
    const changed = { ...state, cancelAtPeriodEnd }
    await writeState(tx, { kind: 'subscription', id, state: changed }, new Date(state.periodEnd))
    return undefined
  }

type Applied = { readonly change: Change; readonly state: SubscriptionState; readonly at: Date }

/** Credits the unused share of the old price against the new one; returns the id of the paid invoice. */
export async function applyChange(tx: Db, { change, state, at }: Applied): Promise<string | undefined> {
  const { subscriptionId: id, from, to, when } = change
  const periodEnd = new Date(state.periodEnd)
  if (when === 'renewal' || (from.plan === to.plan && from.interval === to.interval)) {
    await writeState(tx, { kind: 'subscription', id, state: { ...state, next: to } }, periodEnd)
    return undefined
  }
  const periodMs = periodEnd.getTime() - Date.parse(state.periodStart)
  const restMs = Math.max(0, periodEnd.getTime() - at.getTime())
  const credit = shareDown(from.amount, restMs, periodMs)
  const unused = { plan: from.plan, endsAt: state.periodEnd }
  const startsAt = at.toISOString()
  const sameInterval = from.interval === to.interval
  const changed: SubscriptionState = sameInterval
    ? { ...state, next: to }
    : {
        ...state,
        next: to,
        anchor: startsAt,
        periods: 1,
        periodStart: startsAt,
        periodEnd: addMonths(at, monthsOf(to)).toISOString(),
      }
  const price = sameInterval ? shareDown(to.amount, restMs, periodMs) : to.amount
  const cost = { amount: Math.max(0, price - credit), unused, startsAt }
  await writeState(tx, { kind: 'subscription', id, state: changed }, new Date(changed.periodEnd))
  return charge(tx, { subscriptionId: id, state: changed, reason: 'change', paidAt: at, change: cost })
}
