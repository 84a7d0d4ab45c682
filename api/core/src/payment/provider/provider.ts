// A payment provider as Matte sees it (D72). Whatever a provider sends is a hint: what it was about is read again from
// the provider, and the facts that come back are applied. So events may come late, twice and in any order.
import type { IncomingHttpHeaders } from 'node:http'

type BillingInterval = 'month' | 'year'

export type PricedPlan = {
  readonly plan: string
  readonly interval: BillingInterval
  /** Minor units of the currency. */
  readonly amount: number
  readonly currency: string
}

export type NewCheckout = {
  readonly orderId: string
  readonly description: string
  readonly amount: number
  readonly currency: string
  /** Who pays, as far as we know. */
  readonly email: string | null
  /** Null: a single payment. */
  readonly subscription: PricedPlan | null
  /** Where the payer is sent to afterwards. */
  readonly returnUrl: string
}

export type Checkout = { readonly id: string; readonly url: string }

/** What an order's checkout has come to. */
export type OrderFacts = {
  readonly orderId: string
  readonly checkoutId: string
  readonly status: 'open' | 'paid' | 'expired'
  readonly paymentId: string | null
  readonly amount: number
  readonly tax: number
  readonly currency: string
  readonly paidAt: Date | null
}

export type SubscriptionFacts = {
  readonly id: string
  /** The order that it began with. */
  readonly orderId: string
  /** What the next renewal is for. */
  readonly plan: string
  readonly interval: BillingInterval
  readonly status: 'incomplete' | 'active' | 'past_due' | 'canceled'
  readonly periodStart: Date
  readonly periodEnd: Date
  readonly cancelAtPeriodEnd: boolean
  readonly endedAt: Date | null
}

/** One charge of a subscription: its first, a renewal, or what a change costs. */
export type InvoiceFacts = {
  readonly id: string
  readonly subscriptionId: string
  /** The order that the subscription began with. */
  readonly orderId: string
  readonly reason: 'purchase' | 'renewal' | 'change'
  readonly status: 'open' | 'paid' | 'void'
  readonly paymentId: string | null
  /** Below zero: the provider credits the customer, and nothing was paid. */
  readonly amount: number
  readonly tax: number
  readonly currency: string
  readonly paidAt: Date | null
  readonly bought: {
    readonly plan: string
    readonly interval: BillingInterval
    readonly startsAt: Date
    readonly endsAt: Date
  }
  /** Nothing was bought: the invoice credits what is unused of `bought`. */
  readonly creditsOnly: boolean
  /** Of a change: what was in force before, and until when it had been paid. */
  readonly unused: { readonly plan: string; readonly endsAt: Date } | null
}

export type RefundFacts = {
  readonly id: string
  /** Null: made at the provider, not by us. */
  readonly refundId: string | null
  readonly paymentId: string
  readonly status: 'pending' | 'succeeded' | 'failed'
  readonly amount: number
  readonly failure: string | null
}

export type Facts = {
  readonly order?: OrderFacts
  readonly subscription?: SubscriptionFacts
  readonly invoice?: InvoiceFacts
  readonly refund?: RefundFacts
  /** Names the card or account that was paid with, the same for whoever pays with it; where the provider tells. */
  readonly fingerprint?: string
}

/** A thing at the provider; `order` by our own id. */
export type Subject = {
  readonly kind: 'checkout' | 'subscription' | 'invoice' | 'refund' | 'order'
  readonly id: string
}

export type ProviderEvent = {
  readonly id: string
  readonly type: string
  /** Null: an event that means nothing here. */
  readonly about: Subject | null
  /** A charge failed, which stays true whatever was paid later: what the provider said of it. */
  readonly failure: string | null
}

export type NewRefund = {
  readonly refundId: string
  readonly paymentId: string
  readonly amount: number
  readonly currency: string
}

export type Change = {
  readonly subscriptionId: string
  /** What is paid for now. */
  readonly from: PricedPlan
  readonly to: PricedPlan
  /** `now`: charged at once less what is unused; `renewal`: from the next period, nothing charged. */
  readonly when: 'now' | 'renewal'
}

export type PaymentProvider = {
  readonly name: 'stripe' | 'sandbox' | 'none'
  /** The same order again is the same checkout. */
  createCheckout(checkout: NewCheckout): Promise<Checkout>
  /** Nothing can be paid there any more, unless it has been: `getOrder` says so. */
  endCheckout(checkoutId: string): Promise<void>
  getOrder(checkoutId: string): Promise<Facts>
  /**
   * What is true of it now, and of what it needs: of a refund the payment, which may be new to us as well.
   * Undefined: it is none of ours.
   */
  read(subject: Subject): Promise<Facts | undefined>
  /** The same `refundId` again is the same refund, however late. */
  refund(refund: NewRefund): Promise<RefundFacts>
  /** @throws ChargeFailed, nothing changed */
  changeSubscription(change: Change): Promise<Facts>
  cancelSubscription(subscriptionId: string): Promise<Facts>
  resumeSubscription(subscriptionId: string): Promise<Facts>
  /** At once, nothing paid back; what is open of it cannot be paid any more. One that has ended is left as it is. */
  endSubscription(subscriptionId: string): Promise<Facts>
  /** @throws SignatureError */
  verifyEvent(raw: Buffer, headers: IncomingHttpHeaders): ProviderEvent
}

/** How old an event's signature may be, in seconds. */
export const signatureToleranceSeconds = 300
