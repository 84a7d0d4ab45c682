import type { Registry } from 'prom-client'
import { counter } from '../runtime/metrics/define.ts'
import type { Subject } from './provider/provider.ts'

const subjects = [
  'checkout',
  'subscription',
  'invoice',
  'refund',
  'order',
] as const satisfies readonly Subject['kind'][]
const eventOutcomes = ['applied', 'ignored', 'repeated', 'refused', 'failed'] as const
const outcomes = ['ordered', 'paid', 'declined', 'refunded', 'refund_failed'] as const

/** All of this file; docs/metrics.md lists them. */
export const paymentMetrics = {
  events: counter({
    name: 'matte_payment_events_total',
    help:
      'Events of the payment provider, by what they are about and what became of them. `refused`: nobody signed it. ' +
      '`failed`: nothing of it was stored, and the provider sends it again.',
    labels: { about: [...subjects, 'none'], outcome: eventOutcomes },
    reader: 'alert',
  }),
  outcomes: counter({
    name: 'matte_payments_total',
    help:
      'Orders made and paid, charges that were declined, refunds that were paid or failed. One whose transaction is ' +
      'rolled back and done again counts twice; the books are the invoices.',
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
