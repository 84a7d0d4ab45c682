import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { AlreadyCreated, createOnce, findOutcome, type OnceRequest } from '../idempotency/create-once.ts'
import { invalidParam } from '../invalid-params.ts'
import { planNamed } from '../workspace/plan.ts'
import { lockWorkspace } from '../workspace/workspace-queries.ts'
import { applyFacts } from './apply/apply-facts.ts'
import { closeOrder, isOpen } from './apply/apply-order.ts'
import { nextReading, timeOf } from './apply/applying.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { PricedPlan } from './provider/provider.ts'
import { findOwn } from './rows/list-own.ts'
import { findOpenSubscriptionOrder, insertOrder, listOpenOrders, type OrderRow } from './rows/order-queries.ts'
import { listLiving } from './rows/subscription-queries.ts'

export type Wanted =
  | { readonly kind: 'pack'; readonly packId: string }
  | { readonly kind: 'subscription'; readonly plan: string; readonly interval: 'month' | 'year' }

type NewOrder = {
  readonly workspaceId: string
  readonly userId: string
  readonly email: string | null
  readonly wanted: Wanted
  /** Where the payer comes back to. */
  readonly returnUrl: string
  readonly once: OnceRequest | undefined
}

/** How long after its creation an open order's provider is asked, should its events be lost. */
const checkHours = 1

/**
 * An order with its checkout at the provider. If the process dies between the two, the same request again, or reading
 * the order, makes the checkout.
 * @throws MatteError INVALID_PARAMS for what is not on sale, CONFLICT for a second subscription or a sixth open
 *   order, NOT_FOUND for a workspace that has ended; AlreadyCreated
 */
export async function createOrder(deps: PaymentDeps, order: NewOrder): Promise<OrderRow> {
  const { workspaceId, userId, wanted, once } = order
  refuseWithout(deps)
  const sold = findSold(deps, wanted)
  if (wanted.kind === 'subscription') await closeEarlier(deps, order)
  const made = await createOnce(deps.db, once, async (tx) => {
    await lockWorkspace(tx, workspaceId)
    await refuseDeleted(tx, workspaceId)
    await refuseMany(tx, workspaceId)
    if (wanted.kind === 'subscription') {
      const open = await findOpenSubscriptionOrder(tx, workspaceId)
      if ((await listLiving(tx, workspaceId)).length > 0) throw hasSubscription()
      if (open !== undefined) {
        throw new MatteError('CONFLICT', 'Another subscription is being ordered.', { details: { orderId: open.id } })
      }
    }
    const now = await timeOf(tx, deps)
    const check_at = new Date(now.getTime() + checkHours * 60 * 60 * 1_000)
    const row = await insertOrder(tx, {
      workspace_id: workspaceId,
      created_by: userId,
      provider: deps.provider.name,
      check_at,
      ...sold,
    })
    if (row === undefined) throw new Error('the order was not stored')
    return row
  })
  deps.metrics?.count('ordered')
  return ensureCheckout(deps, made, order)
}

/** A member of it may be let in for some seconds more; what was paid then would be nobody's. */
async function refuseDeleted(tx: Db, workspaceId: string): Promise<void> {
  const { deleted_at } = await tx
    .selectFrom('workspace')
    .select('deleted_at')
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  if (deleted_at !== null) throw new MatteError('NOT_FOUND', 'The workspace has been deleted.')
}

/** Bounds the checkouts of a workspace that the provider is asked about. Its row is locked. */
const openOrdersMax = 5
/** Releases before this bound may have left more. */
const namedMax = 20

async function refuseMany(tx: Db, workspaceId: string): Promise<void> {
  const open = await listOpenOrders(tx, workspaceId, namedMax)
  if (open.length < openOrdersMax) return
  const orderIds = open.map(({ id }) => id)
  const message = `The workspace has ${open.length} open orders; pay or cancel one first: ${orderIds.join(', ')}.`
  throw new MatteError('CONFLICT', message, { details: { orderIds, limit: openOrdersMax } })
}

const hasSubscription = (): MatteError =>
  new MatteError('CONFLICT', 'The workspace has a subscription; change that one, or order again once it has ended.')

/** @throws MatteError CONFLICT where payments are off */
function refuseWithout({ provider }: PaymentDeps): void {
  if (provider.name === 'none') {
    throw new MatteError('CONFLICT', 'This installation takes no payments.', { details: { provider: 'none' } })
  }
}

function findSold({ packs, planPrices, plans }: PaymentDeps, wanted: Wanted) {
  if (wanted.kind === 'pack') {
    const pack = packs.find(({ id }) => id === wanted.packId)
    if (pack === undefined) throw invalidParam('/body/packId', `must be one of ${packs.map(({ id }) => id).join(', ')}`)
    const { name: description, credits, amount, currency, expiresAfterDays: expires_after_days } = pack
    return { kind: 'pack' as const, pack_id: pack.id, description, credits, amount, currency, expires_after_days }
  }
  const { plan, interval, amount, currency } = findPrice(planPrices, wanted, '/body/plan')
  return {
    kind: 'subscription' as const,
    description: `Plan ${plan} by the ${interval}`,
    plan,
    billing_interval: interval,
    credits: planNamed(plans, plan).credits * (interval === 'year' ? 12 : 1),
    amount,
    currency,
  }
}

/** @throws MatteError INVALID_PARAMS when the plan is not on sale at this interval */
export function findPrice(
  prices: readonly PricedPlan[],
  { plan, interval }: Pick<PricedPlan, 'plan' | 'interval'>,
  path: string,
): PricedPlan {
  const price = prices.find((each) => each.plan === plan && each.interval === interval)
  if (price !== undefined) return price
  const sold = prices.map((each) => `${each.plan} by the ${each.interval}`).join(', ')
  throw invalidParam(path, `must be on sale: ${sold}`)
}

/** One that was begun and left: its checkout is closed, so that not both can be paid. */
async function closeEarlier(deps: PaymentDeps, { workspaceId, once }: NewOrder): Promise<void> {
  const earlier = await findOpenSubscriptionOrder(deps.db, workspaceId)
  if (earlier === undefined) return
  // Looked for after the order was seen, with which it was committed: this very request, sent twice at once, made it.
  const outcome = once && (await findOutcome(deps.db, once))
  if (outcome !== undefined) throw new AlreadyCreated(outcome)
  await cancelOrder(deps, earlier)
}

/** The order with its checkout; one that has it, or needs none, as it is. The same order has the same checkout. */
export async function ensureCheckout(
  deps: PaymentDeps,
  order: OrderRow,
  { email, returnUrl }: Pick<NewOrder, 'email' | 'returnUrl'>,
): Promise<OrderRow> {
  const { db, provider } = deps
  const { id: orderId, description, amount, currency, plan, billing_interval: interval } = order
  if (order.checkout_id !== null || order.status !== 'pending' || order.provider !== provider.name) return order
  const subscription = plan === null || interval === null ? null : { plan, interval, amount, currency }
  const checkout = await provider.createCheckout({
    ...{ orderId, description, amount, currency, email, subscription },
    returnUrl: `${returnUrl}?order=${orderId}`,
  })
  const saved = await db
    .updateTable('payment_order')
    .set({ checkout_id: checkout.id, checkout_url: checkout.url })
    .where('id', '=', orderId)
    .returningAll()
    .executeTakeFirstOrThrow()
  // Canceled meanwhile, by somebody who could not know of the checkout.
  if (saved.status === 'canceled') await provider.endCheckout(checkout.id)
  return saved
}

/**
 * Closes the checkout first, so that what is canceled cannot be paid.
 * @throws MatteError CONFLICT when it has been paid, or is being paid
 */
export async function cancelOrder(deps: PaymentDeps, order: OrderRow): Promise<OrderRow> {
  const { db, provider } = deps
  refuseWithout(deps)
  if (!isOpen(order)) throw notOpen(order.status)
  // Of a provider that is no longer asked nobody can end the checkout; it would stand in the way of others forever.
  if (order.checkout_id === null || order.provider !== provider.name) return closeUnlessPaid(deps, order)
  await provider.endCheckout(order.checkout_id)
  const reading = await nextReading(db)
  const facts = await provider.getOrder(order.checkout_id)
  await db.transaction().execute((tx) => applyFacts(tx, deps, { facts, reading }))
  return closeUnlessPaid(deps, order, facts.order?.status === 'expired')
}

/** `closed`: the provider says that nothing can be paid. */
async function closeUnlessPaid({ db }: PaymentDeps, order: OrderRow, closed = true): Promise<OrderRow> {
  return db.transaction().execute(async (tx) => {
    await lockWorkspace(tx, order.workspace_id)
    const current = await findOwn(tx, 'payment_order', { workspaceId: order.workspace_id, id: order.id })
    if (current?.status === 'canceled') return current
    if (current === undefined || !isOpen(current)) throw notOpen(current?.status ?? 'gone')
    if (!closed) throw new MatteError('CONFLICT', 'The order is being paid; wait for its outcome.')
    return closeOrder(tx, order.id)
  })
}

const notOpen = (status: string): MatteError =>
  new MatteError('CONFLICT', `The order is ${status}.`, { details: { status } })
