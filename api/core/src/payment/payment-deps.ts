import type { Db } from '../db/database.ts'
import type { InvoiceSeller } from '../db/tables/payment.ts'
import type { MasterKeys } from '../runtime/seal.ts'
import type { Plans } from '../workspace/plan.ts'
import type { PaymentMetrics } from './payment-metrics.ts'
import type { Pack } from './prices.ts'
import type { PaymentProvider, PricedPlan } from './provider/provider.ts'

export type PaymentDeps = {
  readonly db: Db
  readonly provider: PaymentProvider
  readonly plans: Plans
  readonly packs: readonly Pack[]
  readonly planPrices: readonly PricedPlan[]
  readonly seller: InvoiceSeller
  /** Days after a payment in which members refund it themselves; 0: they do not. */
  readonly selfRefundDays: number
  /** The sandbox signs its events by them. */
  readonly masterKeys: MasterKeys
  /** Counts what happens, where somebody reads it. */
  readonly metrics?: PaymentMetrics | undefined
  /** Simulated time; without it the database's. */
  readonly now?: (() => Date) | undefined
}
