import type { ColumnType, Generated } from 'kysely'

type OrderStatus = 'pending' | 'failed' | 'canceled' | 'paid' | 'partially_refunded' | 'refunded'

type BillingInterval = 'month' | 'year'

/** A payment: an order, a renewal, or the price of a plan change. */
export type PaymentOrderTable = {
  id: Generated<string>
  workspace_id: string
  created_by: string | null
  kind: 'pack' | 'subscription'
  reason: Generated<'purchase' | 'renewal' | 'change'>
  status: Generated<OrderStatus>
  description: string
  pack_id: string | null
  plan: string | null
  billing_interval: BillingInterval | null
  /** Credits of the payment, twelve months for a year; refund shares are computed from it. */
  credits: number
  /** For packs; null: the credits do not expire. */
  expires_after_days: number | null
  /** Minor units, tax included. */
  amount: number
  tax: Generated<number>
  currency: string
  refunded_amount: Generated<number>
  refunded_credits: Generated<number>
  provider: string
  checkout_id: string | null
  checkout_url: string | null
  /** The provider's payment id, needed for refunds. */
  payment_id: string | null
  provider_invoice_id: string | null
  subscription_id: string | null
  /** Lot granted for it; for a year, the latest month's lot. */
  lot_id: string | null
  failure: string | null
  /** Null: never disputed. `open` while any dispute is, else `lost` after any lost one. */
  dispute: 'open' | 'won' | 'lost' | null
  /** Credits held by an open dispute, or taken by a lost one. */
  dispute_credits: Generated<number>
  /** Next check with the provider while the order is open. */
  check_at: Date | null
  asked_at: Date | null
  created_at: Generated<Date>
  paid_at: Date | null
}

export type SubscriptionTable = {
  id: Generated<string>
  workspace_id: string
  provider: string
  provider_id: string
  /** Plan of the next renewal; `subscription_period` has the current plan. */
  plan: string
  billing_interval: BillingInterval
  status: 'incomplete' | 'active' | 'past_due' | 'canceled'
  period_start: Date
  period_end: Date
  cancel_at_period_end: Generated<boolean>
  /** Renewals were stopped because of a dispute, and not by a member. */
  stopped_by_dispute: Generated<boolean>
  /** Number of the provider reading in these columns; older readings are ignored. */
  reading: number
  /** Whether the workspace has the plan; it falls back to free when this ends. */
  in_force: Generated<boolean>
  /** A plan change is in progress at the provider until then; other changes are rejected. */
  claimed_until: Date | null
  /** Next check: the plan may end. */
  check_at: Date | null
  asked_at: Date | null
  created_at: Generated<Date>
  ended_at: Date | null
}

export type SubscriptionPeriodTable = {
  provider_invoice_id: string
  subscription_id: string
  order_id: string
  plan: string
  billing_interval: BillingInterval
  /** For a change: the previous plan, whose unused rest was credited. */
  from_plan: string | null
  from_end: Date | null
  starts_at: Date
  ends_at: Date
  /** Refunded credits of future months; those months grant less. */
  withheld: Generated<number>
  /** Start of the next month to grant; null: all granted. */
  grant_at: Date | null
}

export type RefundTable = {
  id: Generated<string>
  workspace_id: string
  order_id: string
  created_by: string | null
  status: Generated<'pending' | 'succeeded' | 'failed'>
  amount: number
  currency: string
  /** Credits removed, from the lot and from future months. */
  credits: number
  withheld: Generated<number>
  lot_id: string | null
  reason: string
  provider_refund_id: string | null
  failure: string | null
  check_at: Date | null
  asked_at: Date | null
  created_at: Generated<Date>
  completed_at: Date | null
}

/** A chargeback: the payer's bank took the money of a payment back, or is about to decide. */
export type PaymentDisputeTable = {
  id: Generated<string>
  workspace_id: string
  order_id: string
  provider: string
  provider_id: string
  status: 'open' | 'won' | 'lost'
  /** The provider's word, such as `fraudulent`. */
  reason: string
  /** Minor units; the bank may dispute another amount or currency than was paid. */
  amount: number
  currency: string
  /** Number of the provider reading in these columns; older readings are ignored. */
  reading: number
  /** Next check with the provider; null: nothing can change. */
  check_at: Date | null
  asked_at: Date | null
  created_at: Generated<Date>
  closed_at: Date | null
}

type Json<T> = ColumnType<T, string, never>

/** Immutable copy of the data at the time of issue. */
export type InvoiceTable = {
  id: Generated<string>
  workspace_id: string
  order_id: string
  /** For a credit note, and for the document that corrects it. */
  refund_id: string | null
  number: string
  credit_note_for: string | null
  /** The credit note that this document cancels because its refund failed. */
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

export type InvoiceCounterTable = {
  year: number
  last: number
}

/** A payment provider event, written in the transaction that applies it. */
export type ProviderEventTable = {
  provider: string
  event_id: string
  type: string
  workspace_id: string | null
  /** The signed body; empty if ignored, or once the workspace is deleted. */
  raw: string
  applied: boolean
  received_at: Generated<Date>
}

/** State of the sandbox provider. */
export type SandboxObjectTable = {
  id: string
  kind: 'checkout' | 'subscription' | 'invoice' | 'refund' | 'dispute'
  state: ColumnType<unknown, string, string>
  due_at: Date | null
}

/** A scheduled sandbox event; a duplicate delivery has a second row. */
export type SandboxEventTable = {
  position: Generated<number>
  body: string
  due_at: Date
  delivered_at: Date | null
}
