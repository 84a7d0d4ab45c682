// What members do to a subscription: first at the provider, then here by what it answers. Should the process die in
// between, the provider's event brings the same.
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { MatteError } from '../error.ts'
import { createOnce, type OnceRequest } from '../idempotency/create-once.ts'
import { announceNext } from './apply/announce-next.ts'
import { applyFacts, beginApplying } from './apply/apply-facts.ts'
import { noteFailure } from './apply/apply-order.ts'
import { nextReading, timeOf } from './apply/applying.ts'
import { findPrice } from './orders.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { Change, Facts, PricedPlan } from './provider/provider.ts'
import { ChargeFailed, ProviderRefused } from './provider/provider-errors.ts'
import { findOrderBy } from './rows/order-queries.ts'
import { findLatestPeriod, listLiving, type PeriodRow, type SubscriptionRow } from './rows/subscription-queries.ts'

type Wanted = {
  readonly workspaceId: string
  readonly plan: string
  readonly interval: 'month' | 'year'
  readonly once: OnceRequest | undefined
}

/**
 * Another plan, or the year in place of the month. What costs more is charged at once, less what is unused; what costs
 * less comes with the next period, and nothing is paid back: its credits may be spent already.
 * @throws MatteError INVALID_PARAMS, CONFLICT
 */
export async function changeSubscription(deps: PaymentDeps, wanted: Wanted): Promise<void> {
  const to = findPrice(deps.planPrices, wanted, '/body/plan')
  const { subscription, paid } = await findPaid(deps, wanted.workspaceId)
  const from = await pricePaid(deps, paid)
  const when = whenOf({ from, to }, subscription)
  const { id, provider_id: subscriptionId } = subscription
  await atProvider(deps, subscription, async (reading) => {
    // Now that no refund of it begins.
    if (when === 'now') await refuseRefunded(deps, subscription)
    const facts = await chargeOrTell(deps, subscription, { subscriptionId, from, to, when })
    await createOnce(deps.db, wanted.once, async (tx) => {
      await applyFacts(tx, deps, { facts, reading })
      if (when === 'renewal') await announceNext(tx, id)
      return { id }
    })
  })
}

/** @throws MatteError CONFLICT unless there is one that was paid for and is not about to end */
async function findPaid(deps: PaymentDeps, workspaceId: string) {
  const subscription = await findLiving(deps, workspaceId)
  const paid = await findLatestPeriod(deps.db, subscription.id)
  if (subscription.status !== 'active' || paid === undefined || paid.ends_at <= (await timeOf(deps.db, deps))) {
    throw new MatteError('CONFLICT', 'The subscription has a charge that is not paid; settle that first.')
  }
  if (subscription.cancel_at_period_end) {
    throw new MatteError('CONFLICT', 'The subscription is canceled; resume it before changing it.')
  }
  return { subscription, paid }
}

/** @throws MatteError CONFLICT */
async function findLiving({ db, provider }: PaymentDeps, workspaceId: string): Promise<SubscriptionRow> {
  const [subscription] = await listLiving(db, workspaceId)
  if (subscription === undefined) throw new MatteError('CONFLICT', 'The workspace has no subscription.')
  if (subscription.provider !== provider.name) {
    const message =
      `The subscription is at ${subscription.provider}, which this installation no longer asks: end it there. ` +
      'Here it ends a week after its period.'
    throw new MatteError('CONFLICT', message)
  }
  return subscription
}

/** What was paid for it in fact: the price may have changed since. */
async function pricePaid({ db, planPrices }: PaymentDeps, paid: PeriodRow): Promise<PricedPlan> {
  const { plan, billing_interval: interval } = paid
  const listed = planPrices.find((each) => each.plan === plan && each.interval === interval)
  const order = await findOrderBy(db, 'id', paid.order_id)
  const isWhole = order !== undefined && order.reason !== 'change'
  const whole = isWhole ? { amount: order.amount - order.tax, currency: order.currency } : listed
  if (whole === undefined) throw new MatteError('CONFLICT', `The plan ${plan} is no longer sold; it cannot be changed.`)
  return { plan, interval, amount: whole.amount, currency: whole.currency }
}

/** The unused rest is credited against the new price: what was paid back already would be credited once more. */
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
  const message = `A part of this period was refunded: nothing can be changed at once before ${end.toISOString()}.`
  throw new MatteError('CONFLICT', message, { details: { orderId: refunded.id } })
}

function whenOf({ from, to }: Pick<Change, 'from' | 'to'>, subscription: SubscriptionRow): Change['when'] {
  const same = from.plan === to.plan && from.interval === to.interval
  const asPlanned = subscription.plan === to.plan && subscription.billing_interval === to.interval
  if (same && asPlanned) throw new MatteError('CONFLICT', `The subscription is to ${to.plan} already.`)
  if (from.interval === 'year' && to.interval === 'month') {
    throw new MatteError('CONFLICT', 'A year that is paid runs to its end: cancel, and order by the month then.')
  }
  if (from.interval === to.interval) return to.amount > from.amount ? 'now' : 'renewal'
  if (to.amount > from.amount && (from.plan === to.plan || to.amount > 12 * from.amount)) return 'now'
  throw new MatteError('CONFLICT', 'Go over to the year with the same plan or a larger one.')
}

/** A charge that fails changes nothing, and is told of. */
async function chargeOrTell(deps: PaymentDeps, subscription: SubscriptionRow, change: Change): Promise<Facts> {
  try {
    return await deps.provider.changeSubscription(change)
  } catch (error) {
    if (!(error instanceof ChargeFailed)) throw error
    const paid = await findLatestPeriod(deps.db, subscription.id)
    await deps.db.transaction().execute(async (tx) => {
      const applying = await beginApplying(tx, deps, subscription.workspace_id)
      const order = paid && (await findOrderBy(tx, 'id', paid.order_id))
      if (order !== undefined) await noteFailure(applying, order, { failure: error.message, key: randomUUID() })
    })
    throw new MatteError('CONFLICT', `The charge failed, nothing was changed: ${error.message}`, { cause: error })
  }
}

/**
 * Until its period's end the plan goes on. Where that is over and the renewal was not paid, it ends at once: providers
 * may try to collect for weeks, or leave it open, and nothing else could be ordered meanwhile.
 * @throws MatteError CONFLICT
 */
export async function cancelSubscription(deps: PaymentDeps, workspaceId: string): Promise<void> {
  const subscription = await findLiving(deps, workspaceId)
  const { provider_id: id, cancel_at_period_end: isCanceled } = subscription
  const isOver = await isUncollected(deps, subscription)
  if (isCanceled && !isOver) throw new MatteError('CONFLICT', 'The subscription is canceled already.')
  await atProvider(deps, subscription, async (reading) => {
    const { provider } = deps
    const ends = isOver && !(await isCollected(deps, id))
    const facts = await (ends ? provider.endSubscription(id) : provider.cancelSubscription(id))
    await deps.db.transaction().execute((tx) => applyFacts(tx, deps, { facts, reading }))
  })
}

/** The event of a payment may be on its way, and what was just paid for must not be ended. */
async function isCollected({ provider }: PaymentDeps, id: string): Promise<boolean> {
  return (await provider.read({ kind: 'subscription', id }))?.subscription?.status === 'active'
}

async function isUncollected(deps: PaymentDeps, { id, status }: SubscriptionRow): Promise<boolean> {
  if (status !== 'past_due') return false
  const paid = await findLatestPeriod(deps.db, id)
  return paid === undefined || paid.ends_at <= (await timeOf(deps.db, deps))
}

/**
 * An operator's end of whatever the workspace has subscribed to: at the provider, at once, nothing paid back. Answers
 * how many there were.
 * @throws MatteError CONFLICT
 */
export async function endSubscriptions(deps: PaymentDeps, workspaceId: string): Promise<number> {
  const living = await listLiving(deps.db, workspaceId)
  for (const _each of living) await endAtProvider(deps, await findLiving(deps, workspaceId))
  return living.length
}

export const endAtProvider = (deps: PaymentDeps, subscription: SubscriptionRow): Promise<void> =>
  atProvider(deps, subscription, async (reading) => {
    const facts = await deps.provider.endSubscription(subscription.provider_id)
    await deps.db.transaction().execute((tx) => applyFacts(tx, deps, { facts, reading }))
  })

/** Takes the cancel back, while the period lasts. @throws MatteError CONFLICT */
export async function resumeSubscription(deps: PaymentDeps, workspaceId: string): Promise<void> {
  const subscription = await findLiving(deps, workspaceId)
  if (!subscription.cancel_at_period_end) throw new MatteError('CONFLICT', 'The subscription is not canceled.')
  await atProvider(deps, subscription, async (reading) => {
    const facts = await deps.provider.resumeSubscription(subscription.provider_id)
    await deps.db.transaction().execute(async (tx) => {
      await applyFacts(tx, deps, { facts, reading })
      await announceNext(tx, subscription.id)
    })
  })
}

/** Longer than the provider may take; who dies meanwhile keeps others out no longer. */
const claimSeconds = 45

/** One change at a time: two that begin from the same plan would both be charged for it. */
async function atProvider(
  deps: PaymentDeps,
  { id }: SubscriptionRow,
  work: (reading: number) => Promise<void>,
): Promise<void> {
  const { db } = deps
  const claimed = await db
    .updateTable('subscription')
    .set({ claimed_until: sql`now() + ${claimSeconds} * interval '1 second'` })
    .where('id', '=', id)
    .where((where) => where.or([where('claimed_until', 'is', null), where('claimed_until', '<', sql<Date>`now()`)]))
    .returning('id')
    .executeTakeFirst()
  if (claimed === undefined) throw new MatteError('CONFLICT', 'The subscription is being changed.')
  try {
    // Taken before the provider is asked, so that an event's later reading wins; its answer is at least as new.
    await work(await nextReading(db))
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error
    throw new MatteError('CONFLICT', `The payment provider refused: ${error.message}`, { cause: error })
  } finally {
    await db.updateTable('subscription').set({ claimed_until: null }).where('id', '=', id).execute()
  }
}
