import type { ColumnType, Generated } from 'kysely'

type OrderStatus = 'pending' | 'failed' | 'canceled' | 'paid' | 'partially_refunded' | 'refunded'

type BillingInterval = 'month' | 'year'

/** One payment, wanted or made: what somebody ordered, a renewal, the price of a change (D72). */
export type PaymentOrderTable = {
  id: Generated<string>
  workspace_id: string
  /** Null of renewals. */
  created_by: string | null
  kind: 'pack' | 'subscription'
  reason: Generated<'purchase' | 'renewal' | 'change'>
  status: Generated<OrderStatus>
  /** The line of its invoice. */
  description: string
  pack_id: string | null
  plan: string | null
  billing_interval: BillingInterval | null
  /** All credits that the payment buys: of a year twelve months' worth. A refund's share is counted by these. */
  credits: number
  /** Of a pack; null: its credits do not expire. */
  expires_after_days: number | null
  /** Minor units, tax included. */
  amount: number
  tax: Generated<number>
  currency: string
  /** Of refunds that have not failed. */
  refunded_amount: Generated<number>
  refunded_credits: Generated<number>
  provider: string
  checkout_id: string | null
  checkout_url: string | null
  /** What the provider calls the payment; a refund names it. */
  payment_id: string | null
  provider_invoice_id: string | null
  subscription_id: string | null
  /** The lot that it was granted as; of a year the latest month's. */
  lot_id: string | null
  /** What the provider said of the latest charge that failed. */
  failure: string | null
  /** When the provider is asked again, while the order is open. */
  check_at: Date | null
  /** When the provider was last asked, by the loop. */
  asked_at: Date | null
  created_at: Generated<Date>
  paid_at: Date | null
}

export type SubscriptionTable = {
  id: Generated<string>
  workspace_id: string
  provider: string
  provider_id: string
  /** What the next renewal is for; which plan is in force now says `subscription_period`. */
  plan: string
  billing_interval: BillingInterval
  status: 'incomplete' | 'active' | 'past_due' | 'canceled'
  period_start: Date
  period_end: Date
  cancel_at_period_end: Generated<boolean>
  /** Which reading of the provider these columns are; one that began earlier changes nothing. */
  reading: number
  /** The workspace has its plan from here; it falls back to free when this ends. */
  in_force: Generated<boolean>
  /** Until then a member's change is being made at the provider, and another one has to wait. */
  claimed_until: Date | null
  /** When the plan may end, or the provider is asked again. */
  check_at: Date | null
  /** When the provider was last asked, by the loop. */
  asked_at: Date | null
  created_at: Generated<Date>
  ended_at: Date | null
}

/** What one paid invoice of a subscription bought. */
export type SubscriptionPeriodTable = {
  provider_invoice_id: string
  subscription_id: string
  order_id: string
  plan: string
  billing_interval: BillingInterval
  /** Of a change: what its unused rest was credited for. */
  from_plan: string | null
  /** Until when that had been paid. */
  from_end: Date | null
  starts_at: Date
  ends_at: Date
  /** Credits of months to come that were refunded: the next months grant so much less. */
  withheld: Generated<number>
  /** Start of the month whose credits are granted next; null: all are. */
  grant_at: Date | null
}

export type RefundTable = {
  id: Generated<string>
  workspace_id: string
  order_id: string
  /** Null: made by an operator, or at the provider. */
  created_by: string | null
  status: Generated<'pending' | 'succeeded' | 'failed'>
  amount: number
  currency: string
  /** Taken back with it: of its lot, and of months to come. */
  credits: number
  /** The part that was still to be granted. */
  withheld: Generated<number>
  lot_id: string | null
  reason: string
  provider_refund_id: string | null
  failure: string | null
  /** When the provider is asked again, while it is pending. */
  check_at: Date | null
  /** When the provider was last asked, by the loop. */
  asked_at: Date | null
  created_at: Generated<Date>
  completed_at: Date | null
}

type Json<T> = ColumnType<T, string, never>

/** Never changed: what stands on it is a copy from the time at which it was issued. */
export type InvoiceTable = {
  id: Generated<string>
  workspace_id: string
  order_id: string
  /** Of a credit note, and of what corrects it. */
  refund_id: string | null
  number: string
  credit_note_for: string | null
  /** The credit note that this one cancels: its refund failed after all. */
  corrects: string | null
  seller: Json<InvoiceSeller>
  buyer: Json<InvoiceBuyer>
  lines: Json<readonly InvoiceLine[]>
  subtotal: number
  tax: number
  total: number
  currency: string
  paid_at: Date
  issued_at: Date
  created_at: Generated<Date>
}

export type InvoiceSeller = {
  readonly name: string
  readonly addressLines: readonly string[]
  readonly taxId: string | null
}

export type InvoiceBuyer = InvoiceSeller & { readonly email: string | null }

export type InvoiceLine = {
  readonly description: string
  readonly quantity: number
  readonly unitAmount: number
  readonly amount: number
}

/** The last number of a year that was given. */
export type InvoiceCounterTable = {
  year: number
  last: number
}
