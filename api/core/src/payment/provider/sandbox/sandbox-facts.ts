import type { InvoiceFacts, OrderFacts, SubscriptionFacts } from '../provider.ts'
import type { CheckoutState, InvoiceState, SubscriptionState } from './sandbox-state.ts'

export const toOrderFacts = (checkoutId: string, state: CheckoutState): OrderFacts => ({
  orderId: state.orderId,
  checkoutId,
  status: state.status,
  paymentId: state.paymentId,
  amount: state.amount,
  tax: 0,
  currency: state.currency,
  paidAt: dateOrNull(state.paidAt),
})

export const toSubscriptionFacts = (id: string, state: SubscriptionState): SubscriptionFacts => ({
  id,
  orderId: state.orderId,
  plan: state.next.plan,
  interval: state.next.interval,
  status: state.status,
  periodStart: new Date(state.periodStart),
  periodEnd: new Date(state.periodEnd),
  cancelAtPeriodEnd: state.cancelAtPeriodEnd,
  endedAt: dateOrNull(state.endedAt),
})

export const toInvoiceFacts = ({ bought, unused, paidAt, ...state }: InvoiceState): InvoiceFacts => ({
  ...state,
  paidAt: dateOrNull(paidAt),
  bought: { ...bought, startsAt: new Date(bought.startsAt), endsAt: new Date(bought.endsAt) },
  unused: unused && { ...unused, endsAt: new Date(unused.endsAt) },
})

const dateOrNull = (text: string | null): Date | null => (text === null ? null : new Date(text))
