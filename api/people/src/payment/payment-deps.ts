import type { Db } from '@matte/core/db/database'
import type { InvoiceSeller } from '@matte/core/db/tables/payment'
import { counter } from '@matte/core/runtime/metrics/define'
import type { MasterKeys } from '@matte/core/runtime/seal'
import type { Plans } from '@matte/core/workspace/plan'
import type { Registry } from 'prom-client'
import type { Pack } from './prices.ts'
import type { PaymentProvider, PricedPlan, Subject } from './provider/provider.ts'

export type PaymentDeps = {
  readonly db: Db
  readonly provider: PaymentProvider
  readonly plans: Plans
  readonly packs: readonly Pack[]
  readonly planPrices: readonly PricedPlan[]
  readonly seller: InvoiceSeller
  /** Days in which members can refund a payment themselves; 0: never. */
  readonly selfRefundDays: number
  /** Keys the sandbox signs events with. */
  readonly masterKeys: MasterKeys
  readonly metrics?: PaymentMetrics | undefined
  readonly now?: (() => Date) | undefined
}

const subjects = [
  'checkout',
  'subscription',
  'invoice',
  'refund',
  'dispute',
  'order',
] as const satisfies readonly Subject['kind'][]
const eventOutcomes = ['applied', 'ignored', 'repeated', 'refused', 'failed'] as const
const outcomes = [
  ...(['ordered', 'paid', 'declined', 'refunded', 'refund_failed'] as const),
  ...(['disputed', 'dispute_won', 'dispute_lost'] as const),
] as const

export const paymentMetrics = {
  events: counter({
    name: 'matte_payment_events_total',
    help:
      'Events of the payment provider, by subject and outcome. `refused`: the signature is invalid. ' +
      '`failed`: nothing was stored, and the provider sends the event again.',
    labels: { about: [...subjects, 'none'], outcome: eventOutcomes },
    reader: 'alert',
  }),
  outcomes: counter({
    name: 'matte_payments_total',
    help:
      'Orders created and paid, declined charges, refunds paid or failed, and disputes opened, won or lost. An outcome counts twice if its ' +
      'transaction is rolled back and repeated; invoices are the authoritative record.',
    labels: { outcome: outcomes },
    reader: 'product',
  }),
}

export type PaymentMetrics = {
  readonly countEvent: (about: Subject['kind'] | undefined, outcome: (typeof eventOutcomes)[number]) => void
  readonly count: (outcome: (typeof outcomes)[number]) => void
}

export function createPaymentMetrics(registry: Registry): PaymentMetrics {
  const events = paymentMetrics.events.register(registry)
  const counted = paymentMetrics.outcomes.register(registry)
  return {
    countEvent: (about, outcome) => events.inc({ about: about ?? 'none', outcome }),
    count: (outcome) => counted.inc({ outcome }),
  }
}
