// Work of payments that falls due without a request. Each replica does it, and a pass is repeatable and bounded.
// Refunds, subscriptions and orders have a loop each, because each asks the provider: a provider that hangs over orders
// delays neither a refund nor the end of a plan.
import type { SweepPass } from '@matte/core/db/sweep'
import { paymentParts } from '@matte/core/payment/due-payments'
import type { PaymentDeps } from '@matte/core/payment/payment-deps'
import type { Loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'
import { dueParts } from './due-parts.ts'

type DuePayments = {
  readonly payments: PaymentDeps
  /** Called after something was done; deliveries may be due then. */
  readonly wakeDeliveries: () => void
  readonly logger: Logger
  readonly passMs?: number
}

/** Events of the sandbox are due at a second; all else may be minutes late. */
const everyMs = 1_000
/** A pass begins no other question after so long; the rest of what is due comes with the next one. */
const passMsDefault = 20_000

export function duePayments({ payments, wakeDeliveries: wake, logger, passMs = passMsDefault }: DuePayments): Loop[] {
  const { subscriptions_checked, refunds_checked, orders_checked, ...own } = paymentParts(payments)
  const asking = (name: string, parts: Readonly<Record<string, (pass: SweepPass) => Promise<number>>>): Loop =>
    dueParts({ name, everyMs, parts, wake, logger, passMs })
  return [
    dueParts({ name: 'due-payments', everyMs, parts: own, wake, logger }),
    asking('due-subscriptions', { subscriptions_checked }),
    asking('due-refunds', { refunds_checked }),
    asking('due-orders', { orders_checked }),
  ]
}
