import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { AlreadyCreated, createOnce, findOutcome, type OnceRequest } from '@matte/core/idempotency/create-once'
import { invalidParam } from '@matte/core/invalid-params'
import { planNamed } from '@matte/core/workspace/plan'
import { lockWorkspace } from '@matte/core/workspace/workspace-queries'
import { nextReading, timeOf } from './apply/apply-context.ts'
import { applyFacts } from './apply/apply-facts.ts'
import { closeOrder, isOpen } from './apply/apply-order.ts'
import { findOpenSubscriptionOrder, findOwn, insertOrder, listOpenOrders, type OrderRow } from './order-queries.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { PricedPlan } from './provider/provider.ts'
import { listUnended } from './subscription-queries.ts'

export type Wanted =
  | { readonly kind: 'pack'; readonly packId: string }
  | { readonly kind: 'subscription'; readonly plan: string; readonly interval: 'month' | 'year' }

type NewOrder = {
  readonly workspaceId: string
  readonly userId: string
  readonly email: string | null
  readonly wanted: Wanted
  readonly returnUrl: string
  readonly once: OnceRequest | undefined
  readonly audit?: Audit
}

/** Hours until an open order is checked at the provider, in case its events are lost. */
const checkHours = 1

/**
 * Creates an order and its checkout at the provider. If the process dies in between, repeating the request or reading
 * the order creates the checkout.
 * @throws MatteError INVALID_PARAMS: not on sale; CONFLICT: a second subscription or a sixth open order; NOT_FOUND: a
 *   deleted workspace; AlreadyCreated
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
      if ((await listUnended(tx, workspaceId)).length > 0) throw hasSubscription()
      if (open !== undefined) {
        throw new MatteError('CONFLICT', 'A subscription order is already open.', { details: { orderId: open.id } })
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
    await order.audit?.(tx, row.id)
    return row
  })
  deps.metrics?.count('ordered')
  return ensureCheckout(deps, made, order)
}

/** A request authorized seconds before the deletion must not pay for a deleted workspace. */
async function refuseDeleted(tx: Db, workspaceId: string): Promise<void> {
  const { deleted_at } = await tx
    .selectFrom('workspace')
    .select('deleted_at')
    .where('id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  if (deleted_at !== null) throw new MatteError('NOT_FOUND', 'The workspace has been deleted.')
}

/** Bounds the checkouts of a workspace that are checked at the provider. The caller has locked its row. */
const openOrdersMax = 5
/** Bounds the error text; older releases allowed more open orders. */
const namedMax = 20

async function refuseMany(tx: Db, workspaceId: string): Promise<void> {
  const open = await listOpenOrders(tx, workspaceId, namedMax)
  if (open.length < openOrdersMax) return
  const orderIds = open.map(({ id }) => id)
  const message = `The workspace has ${open.length} open orders. Pay or cancel one first: ${orderIds.join(', ')}.`
  throw new MatteError('CONFLICT', message, { details: { orderIds, limit: openOrdersMax } })
}

const hasSubscription = (): MatteError =>
  new MatteError('CONFLICT', 'The workspace already has a subscription. Change it, or order again after it ends.')

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

/** @throws MatteError INVALID_PARAMS if the plan is not on sale at this interval */
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

/** Cancels an earlier open order, so only one of the two checkouts can be paid. */
async function closeEarlier(deps: PaymentDeps, { workspaceId, once }: NewOrder): Promise<void> {
  const earlier = await findOpenSubscriptionOrder(deps.db, workspaceId)
  if (earlier === undefined) return
  // A concurrent duplicate of this request may have created the order; its outcome is committed with the order.
  const outcome = once && (await findOutcome(deps.db, once))
  if (outcome !== undefined) throw new AlreadyCreated(outcome)
  await cancelOrder(deps, earlier)
}

/** Creates the checkout of a pending order if it has none. Idempotent. */
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
  // The order was canceled before its checkout was stored.
  if (saved.status === 'canceled') await provider.endCheckout(checkout.id)
  return saved
}

/** Closes the checkout first, so the order cannot be paid. @throws MatteError CONFLICT: paid, or being paid */
export async function cancelOrder(deps: PaymentDeps, order: OrderRow, audit?: Audit): Promise<OrderRow> {
  const { db, provider } = deps
  refuseWithout(deps)
  if (!isOpen(order)) throw notOpen(order.status)
  // The checkout of a provider that is not configured cannot be closed, and must not block new orders.
  if (order.checkout_id === null || order.provider !== provider.name) return closeUnlessPaid(deps, { order, audit })
  await provider.endCheckout(order.checkout_id)
  const reading = await nextReading(db)
  const facts = await provider.getOrder(order.checkout_id)
  const isCanceled = await db.transaction().execute(async (tx) => {
    await applyFacts(tx, deps, { facts, reading })
    const current = await findOwn(tx, 'payment_order', { workspaceId: order.workspace_id, id: order.id })
    if (current?.status === 'canceled') await audit?.(tx)
    return current?.status === 'canceled'
  })
  return closeUnlessPaid(deps, {
    ...{ order, audit: isCanceled ? undefined : audit },
    closed: facts.order?.status === 'expired',
  })
}

type Closing = {
  readonly order: OrderRow
  readonly audit: Audit | undefined
  /** The provider confirmed that nothing can be paid. */
  readonly closed?: boolean
}

async function closeUnlessPaid({ db }: PaymentDeps, { order, audit, closed = true }: Closing): Promise<OrderRow> {
  return db.transaction().execute(async (tx) => {
    await lockWorkspace(tx, order.workspace_id)
    const current = await findOwn(tx, 'payment_order', { workspaceId: order.workspace_id, id: order.id })
    if (current?.status === 'canceled') return current
    if (current === undefined || !isOpen(current)) throw notOpen(current?.status ?? 'gone')
    if (!closed) throw new MatteError('CONFLICT', 'The order is being paid. Wait for the outcome.')
    await audit?.(tx)
    return closeOrder(tx, order.id)
  })
}

const notOpen = (status: string): MatteError =>
  new MatteError('CONFLICT', `The order is ${status}.`, { details: { status } })
