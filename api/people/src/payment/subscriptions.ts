// Changes go to the provider first. If the process dies before the local change, the provider's event repeats it.

import { randomUUID } from 'node:crypto'
import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { createOnce, type OnceRequest } from '@matte/core/idempotency/create-once'
import { sql } from 'kysely'
import { lockForApply, nextReading, timeOf } from './apply/apply-context.ts'
import { applyFacts } from './apply/apply-facts.ts'
import { recordFailure } from './apply/apply-order.ts'
import { announceNext } from './apply/apply-subscription.ts'
import { hasOpenDispute, refuseDisputedSubscription } from './dispute-queries.ts'
import { findOrderBy } from './order-queries.ts'
import { findPrice } from './orders.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { Change, Facts, PricedPlan } from './provider/provider.ts'
import { ChargeFailed, ProviderRefused } from './provider/provider-errors.ts'
import {
  findLatestPeriod,
  findPaidBack,
  findSubscriptionBy,
  hasRenewalToChange,
  listUnended,
  type PeriodRow,
  type SubscriptionRow,
} from './subscription-queries.ts'

type Wanted = {
  readonly workspaceId: string
  readonly plan: string
  readonly interval: 'month' | 'year'
  readonly once: OnceRequest | undefined
  readonly audit?: Audit
}

/**
 * Changes the plan, or switches from monthly to annual billing. A more expensive plan is charged at once minus the
 * unused rest. A cheaper plan starts with the next period, without a refund, because its credits may be spent.
 * @throws MatteError INVALID_PARAMS, CONFLICT
 */
export async function changeSubscription(deps: PaymentDeps, wanted: Wanted): Promise<void> {
  const to = findPrice(deps.planPrices, wanted, '/body/plan')
  const { subscription, paid } = await findPaid(deps, wanted.workspaceId)
  const from = await pricePaid(deps, paid)
  const when = changeTiming({ from, to }, subscription)
  const { id, provider_id: subscriptionId } = subscription
  await atProvider(deps, { subscription, audit: wanted.audit }, async (reading) => {
    await refuseDisputedSubscription(deps.db, id)
    // Checked under the claim, which keeps refunds out.
    if (when === 'now') await refuseRefunded(deps, subscription)
    const facts = await chargeOrRecordFailure(deps, subscription, { subscriptionId, from, to, when })
    await createOnce(deps.db, wanted.once, async (tx) => {
      await applyFacts(tx, deps, { facts, reading })
      if (when === 'renewal') await announceNext(tx, id)
      return { id }
    })
  })
}

/** @throws MatteError CONFLICT unless the subscription is active, paid and not canceled */
async function findPaid(deps: PaymentDeps, workspaceId: string) {
  const subscription = await requireSubscription(deps, workspaceId)
  const paid = await findLatestPeriod(deps.db, subscription.id)
  if (subscription.status !== 'active' || paid === undefined || paid.ends_at <= (await timeOf(deps.db, deps))) {
    throw new MatteError('CONFLICT', 'The subscription has an unpaid charge. Settle it first.')
  }
  if (subscription.cancel_at_period_end) {
    throw new MatteError('CONFLICT', 'The subscription is canceled. Resume it before changing it.')
  }
  return { subscription, paid }
}

async function requireSubscription({ db, provider }: PaymentDeps, workspaceId: string): Promise<SubscriptionRow> {
  const [subscription] = await listUnended(db, workspaceId)
  if (subscription === undefined) throw new MatteError('CONFLICT', 'The workspace has no subscription.')
  if (subscription.provider !== provider.name) {
    const message =
      `The subscription is at ${subscription.provider}, which is not configured here. End it there; ` +
      'it ends here a week after its period.'
    throw new MatteError('CONFLICT', message)
  }
  return subscription
}

/** The price that was paid; the listed price may have changed since. */
async function pricePaid({ db, planPrices }: PaymentDeps, paid: PeriodRow): Promise<PricedPlan> {
  const { plan, billing_interval: interval } = paid
  const listed = planPrices.find((each) => each.plan === plan && each.interval === interval)
  const order = await findOrderBy(db, 'id', paid.order_id)
  const isWhole = order !== undefined && order.reason !== 'change'
  const whole = isWhole ? { amount: order.amount - order.tax, currency: order.currency } : listed
  if (whole === undefined) throw new MatteError('CONFLICT', `The plan ${plan} is no longer sold, so it cannot change.`)
  return { plan, interval, amount: whole.amount, currency: whole.currency }
}

/** The change credits the unused rest; a refunded part would be credited twice. */
async function refuseRefunded(deps: PaymentDeps, { id, period_end: end }: SubscriptionRow): Promise<void> {
  const refunded = await deps.db
    .selectFrom('subscription_period as p')
    .innerJoin('payment_order as o', 'o.id', 'p.order_id')
    .select('o.id')
    .where('p.subscription_id', '=', id)
    .where('p.ends_at', '>', await timeOf(deps.db, deps))
    .where('o.refunded_amount', '>', 0)
    .executeTakeFirst()
  if (refunded === undefined) return
  const message = `A part of this period was refunded. An immediate change is possible after ${end.toISOString()}.`
  throw new MatteError('CONFLICT', message, { details: { orderId: refunded.id } })
}

function changeTiming({ from, to }: Pick<Change, 'from' | 'to'>, subscription: SubscriptionRow): Change['when'] {
  const same = from.plan === to.plan && from.interval === to.interval
  const asPlanned = subscription.plan === to.plan && subscription.billing_interval === to.interval
  if (same && asPlanned) throw new MatteError('CONFLICT', `The subscription is already for ${to.plan}.`)
  if (from.interval === 'year' && to.interval === 'month') {
    throw new MatteError('CONFLICT', 'A paid year cannot become monthly. Cancel, and order monthly billing at its end.')
  }
  if (from.interval === to.interval) return to.amount > from.amount ? 'now' : 'renewal'
  if (to.amount > from.amount && (from.plan === to.plan || to.amount > 12 * from.amount)) return 'now'
  throw new MatteError('CONFLICT', 'Switch to annual billing with the same plan or a larger one.')
}

async function chargeOrRecordFailure(deps: PaymentDeps, subscription: SubscriptionRow, change: Change): Promise<Facts> {
  try {
    return await deps.provider.changeSubscription(change)
  } catch (error) {
    if (!(error instanceof ChargeFailed)) throw error
    const paid = await findLatestPeriod(deps.db, subscription.id)
    await deps.db.transaction().execute(async (tx) => {
      const context = await lockForApply(tx, deps, subscription.workspace_id)
      const order = paid && (await findOrderBy(tx, 'id', paid.order_id))
      if (order !== undefined) await recordFailure(context, order, { failure: error.message, key: randomUUID() })
    })
    throw new MatteError('CONFLICT', `The charge failed and nothing was changed: ${error.message}`, { cause: error })
  }
}

/**
 * Cancels at the end of the period. If the period is over and its renewal unpaid, ends the subscription at once:
 * providers may try to collect for weeks, which would block a new order.
 * @throws MatteError CONFLICT
 */
export async function cancelSubscription(deps: PaymentDeps, workspaceId: string, audit?: Audit): Promise<void> {
  const subscription = await requireSubscription(deps, workspaceId)
  const { provider_id: id, cancel_at_period_end: isCanceled } = subscription
  const isOver = await isUncollected(deps, subscription)
  if (isCanceled && !isOver && subscription.stopped_by_dispute) {
    return keepStopped(deps, { subscription, audit })
  }
  if (isCanceled && !isOver) throw new MatteError('CONFLICT', 'The subscription is already canceled.')
  await atProvider(deps, { subscription, audit }, async (reading) => {
    const { provider } = deps
    const ends = isOver && !(await isCollected(deps, id))
    const facts = await (ends ? provider.endSubscription(id) : provider.cancelSubscription(id))
    await deps.db.transaction().execute(async (tx) => {
      await applyFacts(tx, deps, { facts, reading })
      await setStoppedByDispute(tx, subscription.id, false)
    })
  })
}

/** Renewals that a dispute has stopped do not resume after it. */
const keepStopped = (deps: PaymentDeps, change: AuditedSubscription): Promise<void> =>
  atProvider(deps, change, () => setStoppedByDispute(deps.db, change.subscription.id, false))

async function setStoppedByDispute(db: Db, id: string, stopped_by_dispute: boolean): Promise<void> {
  await db.updateTable('subscription').set({ stopped_by_dispute }).where('id', '=', id).execute()
}

/** The event of a payment may be pending; a subscription that was just paid must not end. */
async function isCollected({ provider }: PaymentDeps, id: string): Promise<boolean> {
  return (await provider.read({ kind: 'subscription', id }))?.subscription?.status === 'active'
}

async function isUncollected(deps: PaymentDeps, { id, status }: SubscriptionRow): Promise<boolean> {
  if (status !== 'past_due') return false
  const paid = await findLatestPeriod(deps.db, id)
  return paid === undefined || paid.ends_at <= (await timeOf(deps.db, deps))
}

/** Ends all subscriptions of a workspace without a refund; returns their number. @throws MatteError CONFLICT */
export async function endSubscriptions(deps: PaymentDeps, workspaceId: string, audit?: Audit): Promise<number> {
  const living = await listUnended(deps.db, workspaceId)
  for (const _each of living) await endAtProvider(deps, await requireSubscription(deps, workspaceId), audit)
  return living.length
}

export const endAtProvider = (deps: PaymentDeps, subscription: SubscriptionRow, audit?: Audit): Promise<void> =>
  atProvider(deps, { subscription, audit }, async (reading) => {
    const facts = await deps.provider.endSubscription(subscription.provider_id)
    await deps.db.transaction().execute((tx) => applyFacts(tx, deps, { facts, reading }))
  })

/** Revokes a cancellation before the period ends. @throws MatteError CONFLICT */
export async function resumeSubscription(deps: PaymentDeps, workspaceId: string, audit?: Audit): Promise<void> {
  const subscription = await requireSubscription(deps, workspaceId)
  if (!subscription.cancel_at_period_end) throw new MatteError('CONFLICT', 'The subscription is not canceled.')
  await refuseDisputedSubscription(deps.db, subscription.id)
  await resumeAtProvider(deps, { subscription, audit })
}

const resumeAtProvider = (deps: PaymentDeps, { subscription, audit }: AuditedSubscription): Promise<void> =>
  atProvider(deps, { subscription, audit }, async (reading) => {
    const facts = await deps.provider.resumeSubscription(subscription.provider_id)
    await deps.db.transaction().execute(async (tx) => {
      await setStoppedByDispute(tx, subscription.id, false)
      await applyFacts(tx, deps, { facts, reading })
      await announceNext(tx, subscription.id)
    })
  })

/**
 * Stops the renewals at the provider while a payment is disputed, and resumes them once no dispute is open, unless a
 * member has canceled too, the payment was lost or the workspace is deleted. The next check retries it.
 * @throws ProviderUnavailable
 */
export async function settleRenewals(deps: PaymentDeps, subscriptionId: string): Promise<void> {
  const { db, provider } = deps
  const subscription = await findSubscriptionBy(db, 'id', subscriptionId)
  if (subscription === undefined || subscription.ended_at !== null) return
  if (subscription.provider !== provider.name || !(await hasRenewalToChange(db, subscription))) return
  if (await hasOpenDispute(db, subscriptionId)) return stopRenewals(deps, subscription)
  const { cancel_at_period_end: isStopped, workspace_id: workspaceId } = subscription
  if (isStopped && !(await isDeleted(db, workspaceId))) return resumeAtProvider(deps, { subscription })
  await setStoppedByDispute(db, subscriptionId, false)
}

/** Noted before the request, so a process that dies after it leaves renewals that resume. */
const stopRenewals = (deps: PaymentDeps, subscription: SubscriptionRow): Promise<void> =>
  atProvider(deps, { subscription }, async (reading) => {
    await setStoppedByDispute(deps.db, subscription.id, true)
    const facts = await deps.provider.cancelSubscription(subscription.provider_id)
    await deps.db.transaction().execute((tx) => applyFacts(tx, deps, { facts, reading }))
  })

async function isDeleted(db: Db, workspaceId: string): Promise<boolean> {
  const workspace = await db
    .selectFrom('workspace')
    .select('deleted_at')
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return workspace.deleted_at !== null
}

type AuditedSubscription = { readonly subscription: SubscriptionRow; readonly audit?: Audit | undefined }

/** Longer than a request to the provider; a claim of a dead process expires. */
const claimSeconds = 45

/**
 * Serializes changes of a subscription, so two changes are not both charged. The entry of the audit log is written with
 * the claim: the provider is not asked without it, and a refusal by the provider leaves it.
 */
async function atProvider(
  deps: PaymentDeps,
  { subscription: { id }, audit }: AuditedSubscription,
  work: (reading: number) => Promise<void>,
): Promise<void> {
  const { db } = deps
  await db.transaction().execute(async (tx) => {
    const claimed = await tx
      .updateTable('subscription')
      .set({ claimed_until: sql`now() + ${claimSeconds} * interval '1 second'` })
      .where('id', '=', id)
      .where((where) => where.or([where('claimed_until', 'is', null), where('claimed_until', '<', sql<Date>`now()`)]))
      .returning('id')
      .executeTakeFirst()
    if (claimed === undefined) throw new MatteError('CONFLICT', 'The subscription is being changed.')
    await audit?.(tx, id)
  })
  try {
    // Taken before the request, so a later event's reading wins.
    await work(await nextReading(db))
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error
    throw new MatteError('CONFLICT', `The payment provider rejected the change: ${error.message}`, { cause: error })
  } finally {
    await db.updateTable('subscription').set({ claimed_until: null }).where('id', '=', id).execute()
  }
}

/** Ends a subscription whose payment was refunded or lost; the next check retries it. @throws ProviderUnavailable */
export async function endRefunded(deps: PaymentDeps, subscriptionId: string): Promise<void> {
  const subscription = await findSubscriptionBy(deps.db, 'id', subscriptionId)
  if (subscription === undefined || subscription.ended_at !== null) return
  const period = await findLatestPeriod(deps.db, subscriptionId)
  if (subscription.provider !== deps.provider.name || period === undefined) return
  const how = await findPaidBack(deps.db, subscription, period)
  if (how !== undefined) await endAtProvider(deps, subscription)
}

/** Like `endRefunded`; leaves failures to the dispatcher, which retries and reports them. */
export async function tryEndRefunded(deps: PaymentDeps, subscriptionId: string): Promise<void> {
  try {
    await endRefunded(deps, subscriptionId)
  } catch (error) {
    if (!(error instanceof MatteError)) throw error
  }
}
