// The built-in provider (D72): it keeps state, can fail, delay, repeat and reorder, and signs its events as Stripe
// does. Its answers and events take the same way as Stripe's; only the wire between us is missing.
import { createHmac } from 'node:crypto'
import Stripe from 'stripe'
import type { Db } from '../../../db/database.ts'
import type { MasterKeys } from '../../../runtime/seal.ts'
import {
  type Change,
  ChargeFailed,
  type Checkout,
  type Facts,
  type NewCheckout,
  type NewRefund,
  type PaymentProvider,
  ProviderRefused,
  type RefundFacts,
  SignatureError,
  type Subject,
  signatureToleranceSeconds,
} from '../provider.ts'
import { applyChange } from './sandbox-change.ts'
import { toInvoiceFacts, toOrderFacts, toSubscriptionFacts } from './sandbox-facts.ts'
import {
  checkoutId,
  databaseTime,
  findPaid,
  lockState,
  readState,
  type SandboxEventBody,
  type SubscriptionState,
  sendEvents,
  writeState,
} from './sandbox-state.ts'

export type SandboxOptions = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  /** Where the checkout is: the API's own origin. */
  readonly publicUrl: string
  /** Simulated time; without it the database's. */
  readonly now?: (() => Date) | undefined
}

const signatureHeader = 'sandbox-signature'

export function sandboxProvider({ db, masterKeys, publicUrl, now }: SandboxOptions): PaymentProvider {
  const timeOf = async (): Promise<Date> => now?.() ?? databaseTime(db)

  async function createCheckout(checkout: NewCheckout): Promise<Checkout> {
    const { orderId, amount, currency, subscription } = checkout
    const id = checkoutId(orderId)
    const made = { status: 'open', subscriptionId: null, invoiceId: null, paymentId: null, paidAt: null } as const
    const state = { orderId, amount, currency, subscription, ...made }
    await db
      .insertInto('sandbox_object')
      .values({ id, kind: 'checkout', state: JSON.stringify(state) })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return { id, url: `${publicUrl}/api/v1/app/payments/sandbox/checkout/${orderId}` }
  }

  const endCheckout = (id: string): Promise<void> =>
    db.transaction().execute(async (tx) => {
      const state = await lockState(tx, 'checkout', id)
      if (state?.status !== 'open') return
      await writeState(tx, { kind: 'checkout', id, state: { ...state, status: 'expired' } })
      const about = { kind: 'checkout', id } as const
      await sendEvents(tx, [{ type: 'checkout.expired', about }], { outcome: 'succeed', now: await timeOf() })
    })

  async function getOrder(id: string): Promise<Facts> {
    const state = await readState(db, 'checkout', id)
    if (state === undefined) return {}
    const { subscriptionId, invoiceId } = state
    return {
      order: toOrderFacts(id, state),
      ...(subscriptionId !== null && (await readSubscription(subscriptionId))),
      ...(invoiceId !== null && (await readInvoice(invoiceId))),
    }
  }

  async function readSubscription(id: string): Promise<Facts | undefined> {
    const state = await readState(db, 'subscription', id)
    return state && { subscription: toSubscriptionFacts(id, state) }
  }

  async function readInvoice(id: string): Promise<Facts | undefined> {
    const state = await readState(db, 'invoice', id)
    return state && { ...(await readSubscription(state.subscriptionId)), invoice: toInvoiceFacts(state) }
  }

  async function read({ kind, id }: Subject): Promise<Facts | undefined> {
    if (kind === 'checkout') return getOrder(id)
    if (kind === 'subscription') return readSubscription(id)
    if (kind === 'invoice') return readInvoice(id)
    if (kind === 'order') return undefined
    const refund = await readState(db, 'refund', id)
    const paid = refund && (await findPaid(db, refund.paymentId))
    const payment = paid && (await (paid.kind === 'invoice' ? readInvoice(paid.id) : getOrder(paid.id)))
    return refund && { ...payment, refund }
  }

  async function refund({ refundId, paymentId, amount }: NewRefund): Promise<RefundFacts> {
    const id = `sandbox_refund_${refundId}`
    const made = await readState(db, 'refund', id)
    if (made !== undefined) return made
    const state: RefundFacts = { id, refundId, paymentId, amount, status: 'succeeded', failure: null }
    const at = await timeOf()
    await db.transaction().execute(async (tx) => {
      await writeState(tx, { kind: 'refund', id, state })
      const about = { kind: 'refund', id } as const
      await sendEvents(tx, [{ type: 'refund.succeeded', about }], { outcome: 'succeed', now: at })
    })
    return state
  }

  /** Changes it with its events, and answers what is true afterwards. */
  async function alter(
    id: string,
    change: (tx: Db, state: SubscriptionState, at: Date) => Promise<string | undefined>,
  ) {
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
    return (invoiceId === undefined ? await readSubscription(id) : await readInvoice(invoiceId)) ?? {}
  }

  const changeSubscription = (change: Change): Promise<Facts> =>
    alter(change.subscriptionId, async (tx, state, at) => {
      if (change.when === 'now' && state.declines) throw new ChargeFailed('The sandbox declined this charge.')
      return applyChange(tx, { change, state, at })
    })

  const endAtPeriodEnd = (id: string, cancelAtPeriodEnd: boolean): Promise<Facts> =>
    alter(id, async (tx, state) => {
      const changed = { ...state, cancelAtPeriodEnd }
      await writeState(tx, { kind: 'subscription', id, state: changed }, new Date(state.periodEnd))
      return undefined
    })

  return {
    name: 'sandbox',
    createCheckout,
    endCheckout,
    getOrder,
    read,
    refund,
    changeSubscription,
    cancelSubscription: (id) => endAtPeriodEnd(id, true),
    resumeSubscription: (id) => endAtPeriodEnd(id, false),
    verifyEvent: (raw, headers) => {
      const header = headers[signatureHeader]
      if (typeof header !== 'string') throw new SignatureError(`the header ${signatureHeader} is missing`)
      try {
        const secret = secretOf(masterKeys)
        Stripe.webhooks.signature?.verifyHeader(raw, header, secret, signatureToleranceSeconds)
        const { id, type, about, failure } = JSON.parse(raw.toString('utf8')) as SandboxEventBody
        return { id, type, about, failure }
      } catch (error) {
        throw new SignatureError('the signature is not valid', { cause: error })
      }
    },
  }
}

/** All processes that share the master keys sign and verify alike, without a secret to configure. */
function secretOf(masterKeys: MasterKeys): string {
  const [first] = masterKeys.values()
  if (first === undefined) throw new Error('no master key')
  return `whsec_${createHmac('sha256', first).update('events of the sandbox provider').digest('base64')}`
}

/** The headers of an event as it is sent, `t=…,v1=…` as Stripe's. */
export const signSandboxEvent = (masterKeys: MasterKeys, body: string): Record<string, string> => ({
  [signatureHeader]: Stripe.webhooks.generateTestHeaderString({ payload: body, secret: secretOf(masterKeys) }),
})
