// What falls due of payments without anybody asking: renewals of the sandbox and its events, the months of a year,
// plans that end, refunds that wait. Each replica does it; a pass is repeatable and its rounds are bounded.
import { sweepParts } from '@matte/core/db/sweep'
import { paymentParts } from '@matte/core/payment/due-payments'
import type { PaymentDeps } from '@matte/core/payment/payment-deps'
import { type Loop, loop } from '@matte/core/runtime/loop'
import type { Logger } from 'pino'

type DuePayments = {
  readonly payments: PaymentDeps
  /** Something was done, of which webhooks may tell. */
  readonly wakeDeliveries: () => void
  readonly logger: Logger
}

/** Events of the sandbox are due at a second; all else may be minutes late. */
const everyMs = 1_000

export function duePayments({ payments, wakeDeliveries, logger }: DuePayments): Loop {
  const parts = paymentParts(payments)
  return loop({
    name: 'due-payments',
    everyMs,
    run: async (signal) => {
      const { counts, failures } = await sweepParts(parts, { signal })
      for (const { part, error, rows } of failures) {
        logger.error({ err: error, part, rows }, 'a part of the due payments failed; the rest went on')
      }
      if (Object.values(counts).some((count) => count > 0)) wakeDeliveries()
      return counts
    },
    logger,
  })
}
