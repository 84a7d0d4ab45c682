// Due work of payments. Replicas can run it at the same time. Refunds, subscriptions and orders have separate loops, so
// a request for an order that hangs delays neither a refund nor the end of a plan.

import type { SweepPass } from '@matte/core/db/sweep'
import type { Loop } from '@matte/core/runtime/loop'
import { paymentParts } from '@matte/people/payment/due-payments'
import type { PaymentDeps } from '@matte/people/payment/payment-deps'
import type { Logger } from 'pino'
import { dueParts } from './due-parts.ts'

type DuePayments = {
  readonly payments: PaymentDeps
  /** Called when items were handled: deliveries may be due. */
  readonly wakeDeliveries: () => void
  readonly logger: Logger
  readonly passMs?: number
}

/** Events of the sandbox are due every second; the rest can be minutes late. */
const everyMs = 1_000
/** A pass starts no new request to the provider after this time. */
const passMsDefault = 20_000

export function duePayments({ payments, wakeDeliveries: wake, logger, passMs = passMsDefault }: DuePayments): Loop[] {
  const { subscriptions_checked, refunds_checked, orders_checked, ...own } = paymentParts(payments)
  const providerLoop = (name: string, parts: Readonly<Record<string, (pass: SweepPass) => Promise<number>>>): Loop =>
    dueParts({ name, everyMs, parts, wake, logger, passMs })
  return [
    dueParts({ name: 'due-payments', everyMs, parts: own, wake, logger }),
    providerLoop('due-subscriptions', { subscriptions_checked }),
    providerLoop('due-refunds', { refunds_checked }),
    providerLoop('due-orders', { orders_checked }),
  ]
}
