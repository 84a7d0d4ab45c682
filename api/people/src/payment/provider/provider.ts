// Interface of payment providers. A provider's event is only a hint: its subject is read again from the provider,
// and those facts are applied. Events may therefore arrive late, twice and in any order (A94).
import type { IncomingHttpHeaders } from 'node:http'

type BillingInterval = 'month' | 'year'

export type PricedPlan = {
  readonly plan: string
  readonly interval: BillingInterval
  readonly amount: number
  readonly currency: string
}

export type NewCheckout = {
  readonly orderId: string
  readonly description: string
  readonly amount: number
  readonly currency: string
  readonly email: string | null
  /** Null for a single payment. */
  readonly subscription: PricedPlan | null
  readonly returnUrl: string
}

export type Checkout = { readonly id: string; readonly url: string }

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
  /** The order that started the subscription. */
  readonly orderId: string
  readonly plan: string
  readonly interval: BillingInterval
  readonly status: 'incomplete' | 'active' | 'past_due' | 'canceled'
  readonly periodStart: Date
  readonly periodEnd: Date
  readonly cancelAtPeriodEnd: boolean
  readonly endedAt: Date | null
}

/** A charge of a subscription: the first one, a renewal, or the price of a change. */
export type InvoiceFacts = {
  readonly id: string
  readonly subscriptionId: string
  readonly orderId: string
  readonly reason: 'purchase' | 'renewal' | 'change'
  readonly status: 'open' | 'paid' | 'void'
  readonly paymentId: string | null
  /** Negative: a credit to the customer, not a payment. */
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
  /** The invoice only credits the unused rest of `bought`. */
  readonly creditsOnly: boolean
  /** For a change: the previous plan, and the end of its paid period. */
  readonly unused: { readonly plan: string; readonly endsAt: Date } | null
}

export type RefundFacts = {
  readonly id: string
  /** Null for a refund made at the provider. */
  readonly refundId: string | null
  readonly paymentId: string
  readonly status: 'pending' | 'succeeded' | 'failed'
  readonly amount: number
  readonly failure: string | null
}

export type DisputeFacts = {
  readonly id: string
  readonly paymentId: string
  /** `none`: no money moves, as in an inquiry of the bank or after its withdrawal. */
  readonly status: 'none' | 'open' | 'won' | 'lost'
  /** The provider's word, such as `fraudulent`. */
  readonly reason: string
  readonly amount: number
  readonly currency: string
}

export type Facts = {
  readonly order?: OrderFacts
  readonly subscription?: SubscriptionFacts
  readonly invoice?: InvoiceFacts
  readonly refund?: RefundFacts
  readonly dispute?: DisputeFacts
  /** Identifies the card or account of the payment across payers, if the provider reports it. */
  readonly fingerprint?: string
}

/** An object at the provider; an `order` is named by Matte's id. */
export type Subject = {
  readonly kind: 'checkout' | 'subscription' | 'invoice' | 'refund' | 'dispute' | 'order'
  readonly id: string
}

export type ProviderEvent = {
  readonly id: string
  readonly type: string
  readonly about: Subject | null
  /** The provider's message about a failed charge; the failure stays true after a later payment. */
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
  /** The plan that is paid for now. */
  readonly from: PricedPlan
  readonly to: PricedPlan
  /** `now`: charged at once minus the unused rest; `renewal`: from the next period, without a charge. */
  readonly when: 'now' | 'renewal'
}

export type PaymentProvider = {
  readonly name: 'stripe' | 'sandbox' | 'none'
  /** Idempotent by order. */
  createCheckout(checkout: NewCheckout): Promise<Checkout>
  /** Closes a checkout unless it was paid; `getOrder` returns which. */
  endCheckout(checkoutId: string): Promise<void>
  getOrder(checkoutId: string): Promise<Facts>
  /** Reads an object and the objects it depends on, such as a refund's payment. Undefined: not Matte's. */
  read(subject: Subject): Promise<Facts | undefined>
  /** Idempotent by `refundId`, without a time limit. */
  refund(refund: NewRefund): Promise<RefundFacts>
  /** @throws ChargeFailed; nothing has changed then */
  changeSubscription(change: Change): Promise<Facts>
  cancelSubscription(subscriptionId: string): Promise<Facts>
  resumeSubscription(subscriptionId: string): Promise<Facts>
  /** Ends it at once without a refund and voids its open invoices. Idempotent. */
  endSubscription(subscriptionId: string): Promise<Facts>
  /** Header of an event's signature, in lower case. */
  readonly signatureHeader: string
  /** @throws SignatureError */
  verifyEvent(raw: Buffer, headers: IncomingHttpHeaders): ProviderEvent
}

/** Maximum age of an event's signature in seconds. */
export const signatureToleranceSeconds = 300
