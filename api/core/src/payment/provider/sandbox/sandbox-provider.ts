// The built-in provider (D72): it keeps state, can fail, delay, repeat and reorder, and signs its events as Stripe
// does. Its answers and events take the same way as Stripe's; only the wire between us is missing.
import type { Db } from '../../../db/database.ts'
import type { MasterKeys } from '../../../runtime/seal.ts'
import type { Checkout, Facts, NewCheckout, PaymentProvider } from '../provider.ts'
import { ChargeFailed, ProviderRefused } from '../provider-errors.ts'
import { signCheckout } from './checkout-token.ts'
import { applyChange } from './sandbox-change.ts'
import { checkoutId, databaseTime, sendEvents } from './sandbox-events.ts'
import { endAt } from './sandbox-life.ts'
import { lockState, writeState } from './sandbox-objects.ts'
import { readCheckout, readInvoice, readSubject, readSubscription } from './sandbox-read.ts'
import { refundPayment } from './sandbox-refund.ts'
import { verifySandboxEvent } from './sandbox-signature.ts'
import type { SubscriptionState } from './sandbox-state.ts'

export type SandboxOptions = {
  readonly db: Db
  readonly masterKeys: MasterKeys
  /** Where the checkout is: the API's own origin. */
  readonly publicUrl: string
  /** Simulated time; without it the database's. */
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
    verifyEvent: (raw, headers) => verifySandboxEvent(masterKeys, raw, headers),
  }
}

/** Page of the API that plays the checkout. */
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

/** Answers the invoice that was paid with the change, if one was. */
type Alter = (tx: Db, state: SubscriptionState, at: Date) => Promise<string | undefined>

/** Changes a subscription with its events, and answers what is true afterwards. */
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
