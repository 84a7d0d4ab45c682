// Notifications of changes that begin with the next period. No webhook is sent: the plan in force stays as it is (D72).
import { randomUUID } from 'node:crypto'
import type { Db } from '../../db/database.ts'
import { notifyOnly } from '../../notification/publish-event.ts'
import { isChanging } from '../rows/is-changing.ts'
import { findLatestPeriod, findSubscriptionBy, type SubscriptionRow } from '../rows/subscription-queries.ts'
import { isEnding } from './apply-subscription.ts'
import type { Applying } from './applying.ts'

type Seen = {
  readonly before: SubscriptionRow
  readonly after: SubscriptionRow
  /** The same facts have a payment: a change of the plan in force, which is published. */
  readonly isCharged: boolean
}

/** Announces what was scheduled at the provider. A member's own change announces itself. */
export async function announceSeen({ tx }: Applying, { before, after, isCharged }: Seen): Promise<void> {
  const isSame =
    before.plan === after.plan &&
    before.billing_interval === after.billing_interval &&
    isEnding(before) === isEnding(after)
  if (isSame || isCharged || isEnding(after) || (await isChanging(tx, after.id))) return
  await announceNext(tx, after.id)
}

/** Notifies the members whom payments concern of the plan that the next payment is for. */
export async function announceNext(tx: Db, subscriptionId: string): Promise<void> {
  const subscription = await findSubscriptionBy(tx, 'id', subscriptionId)
  const paid = await findLatestPeriod(tx, subscriptionId)
  if (subscription === undefined || paid === undefined) return
  const { plan: next, billing_interval: interval, workspace_id: workspaceId } = subscription
  const end = subscription.period_end.toISOString()
  const isKept = next === paid.plan && interval === paid.billing_interval
  const message = isKept
    ? `The subscription to ${next} goes on.`
    : `The payment that is due on ${end.slice(0, 10)} is for ${next} by the ${interval}. ` +
      `Until then the plan is ${paid.plan}.`
  const fields = { plan: paid.plan, next_plan: next, next_interval: interval, period_end: end, message }
  await notifyOnly(tx, { event: 'subscription.updated', fields, key: randomUUID(), workspaceId, userId: null })
}
