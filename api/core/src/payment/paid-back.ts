import { MatteError } from '../error.ts'
import type { PaymentDeps } from './payment-deps.ts'
import { isPaidBack } from './rows/is-paid-back.ts'
import { findLatestPeriod, findSubscriptionBy } from './rows/subscription-queries.ts'
import { endAtProvider } from './subscriptions.ts'

/**
 * Ends a subscription at the provider after its current payment was paid back whole. The plan has ended with the
 * refund, in its transaction. If the process dies before this, the dispatcher's next check does it.
 * @throws MatteError CONFLICT, ProviderUnavailable
 */
export async function endPaidBack(deps: PaymentDeps, subscriptionId: string): Promise<void> {
  const subscription = await findSubscriptionBy(deps.db, 'id', subscriptionId)
  if (subscription === undefined || subscription.ended_at !== null) return
  const period = await findLatestPeriod(deps.db, subscriptionId)
  if (subscription.provider !== deps.provider.name || period === undefined) return
  if (await isPaidBack(deps.db, subscription, period)) await endAtProvider(deps, subscription)
}

/** The same at once. If it fails, the dispatcher retries it and reports the error. */
export async function tryEndPaidBack(deps: PaymentDeps, subscriptionId: string): Promise<void> {
  try {
    await endPaidBack(deps, subscriptionId)
  } catch (error) {
    if (!(error instanceof MatteError)) throw error
  }
}
