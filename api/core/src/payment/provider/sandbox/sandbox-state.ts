// What the sandbox keeps: its side of the wire, as documents in tables of its own.
import type { InvoiceFacts, PricedPlan, RefundFacts } from '../provider.ts'

export type SandboxOutcome = 'succeed' | 'fail' | 'delay' | 'duplicate' | 'reorder'

/** JSON has no dates: they are ISO 8601 here. */
type Stored<T> = { readonly [K in keyof T]: T[K] extends Date | null ? string | Extract<T[K], null> : T[K] }

export type CheckoutState = {
  readonly orderId: string
  readonly amount: number
  readonly currency: string
  readonly subscription: PricedPlan | null
  readonly status: 'open' | 'paid' | 'expired'
  readonly subscriptionId: string | null
  readonly invoiceId: string | null
  readonly paymentId: string | null
  readonly paidAt: string | null
  /** Its refunds come back after they succeeded, as from a closed account. Absent: they do not. */
  readonly failsRefunds?: boolean
}

export type SubscriptionState = {
  readonly orderId: string
  /** What the next renewal is for. */
  readonly next: PricedPlan
  readonly status: 'active' | 'past_due' | 'canceled'
  /** Periods are counted from here, so that the 31st comes back after a shorter month. */
  readonly anchor: string
  readonly periods: number
  readonly periodStart: string
  readonly periodEnd: string
  readonly cancelAtPeriodEnd: boolean
  readonly endedAt: string | null
  /** Charges of the present renewal that failed. */
  readonly failures: number
  /** How its events come. */
  readonly outcome: SandboxOutcome
  /** Charges after the first fail. */
  readonly declines: boolean
}

export type InvoiceState = Omit<Stored<InvoiceFacts>, 'bought' | 'unused'> & {
  readonly bought: Stored<InvoiceFacts['bought']>
  readonly unused: Stored<NonNullable<InvoiceFacts['unused']>> | null
}

export type States = {
  checkout: CheckoutState
  subscription: SubscriptionState
  invoice: InvoiceState
  refund: RefundFacts
}
