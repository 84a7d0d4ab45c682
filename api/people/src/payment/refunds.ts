import type { Audit } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { createOnce, type OnceRequest } from '@matte/core/idempotency/create-once'
import { invalidParam } from '@matte/core/invalid-params'
import { lockForApply, nextReading } from './apply/apply-context.ts'
import { applyFacts } from './apply/apply-facts.ts'
import { failRefund } from './apply/apply-refund.ts'
import { findAvailable, insertRefund, type RefundRow, refundableOf } from './apply/insert-refund.ts'
import { creditsForRefund, refundableAmount } from './apply/refund-share.ts'
import { refuseDisputed } from './dispute-queries.ts'
import { findOwn, type OrderRow } from './order-queries.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { Facts } from './provider/provider.ts'
import { ProviderRefused, ProviderUnavailable } from './provider/provider-errors.ts'
import { isChanging } from './subscription-queries.ts'
import { tryEndRefunded } from './subscriptions.ts'

type NewRefund = {
  readonly workspaceId: string
  readonly orderId: string
  readonly amount?: number | undefined
  readonly reason: string
  /** Null for an operator. */
  readonly userId: string | null
  readonly once: OnceRequest | undefined
  readonly audit?: Audit
}

/**
 * Refunds unspent credits (D71). The credits are taken in the transaction that creates the refund, and returned if the
 * payment fails. While the provider is unreachable, the refund stays pending and the dispatcher continues it.
 * @throws MatteError NOT_FOUND, CONFLICT, INVALID_PARAMS
 */
export async function createRefund(deps: PaymentDeps, refund: NewRefund): Promise<RefundRow> {
  const { workspaceId, orderId, once } = refund
  const made = await createOnce(deps.db, once, async (tx) => {
    const context = await lockForApply(tx, deps, workspaceId)
    const order = await findOwn(tx, 'payment_order', { workspaceId, id: orderId })
    if (order === undefined) throw new MatteError('NOT_FOUND', 'There is no such order.')
    refuseUnrefundable(deps, order)
    refuseDisputed(order)
    if (refund.userId !== null) refuseLate(deps, order, context.now)
    await refuseChanging(tx, order)
    const left = await findAvailable(context, order)
    const sold = refundableOf(order, left)
    const amount = resolveAmount(order, refundableAmount(sold), refund.amount)
    const credits = creditsForRefund(sold, amount)
    const { reason, userId: createdBy } = refund
    const parts = { amount, credits, left, reason, createdBy, providerRefundId: null }
    const made = await insertRefund(context, order, parts)
    await refund.audit?.(tx, made.id)
    return made
  })
  return payRefund(deps, made)
}

function refuseUnrefundable({ provider }: PaymentDeps, order: OrderRow): void {
  if (order.status !== 'paid' && order.status !== 'partially_refunded') {
    throw new MatteError('CONFLICT', `The order is ${order.status}.`, { details: { status: order.status } })
  }
  if (order.payment_id === null || order.provider !== provider.name) {
    const message = `The order was paid at ${order.provider}, which is not configured here. Refund it there.`
    throw new MatteError('CONFLICT', message, { details: { provider: order.provider } })
  }
}

const dayMs = 24 * 60 * 60 * 1_000

/** Limits members to recent payments; operators can refund at any time. */
function refuseLate({ selfRefundDays }: PaymentDeps, { paid_at: paidAt }: OrderRow, now: Date): void {
  if (paidAt !== null && now.getTime() < paidAt.getTime() + selfRefundDays * dayMs) return
  const why =
    selfRefundDays === 0 ? 'Members cannot refund here.' : `The order was paid more than ${selfRefundDays} days ago.`
  throw new MatteError('CONFLICT', `${why} Ask the operator of this service.`, { details: { selfRefundDays } })
}

/** A plan change credits the unused period, which a refund would pay again. The row lock makes a new change wait. */
async function refuseChanging(tx: Db, { subscription_id: id }: OrderRow): Promise<void> {
  if (id === null) return
  if (!(await isChanging(tx, id))) return
  throw new MatteError('CONFLICT', 'The subscription is being changed. Try again in a minute.')
}

function resolveAmount(order: OrderRow, most: number, asked: number | undefined): number {
  const details = { refundable: most, currency: order.currency }
  if (most === 0) throw new MatteError('CONFLICT', 'The order has nothing left to refund.', { details })
  if (asked === undefined || asked === most) return most
  if (asked < most) return asked
  throw asked > order.amount
    ? invalidParam('/body/amount', `must be at most ${order.amount}, the price of the order`)
    : new MatteError('CONFLICT', `At most ${most} minor units of this order can be refunded.`, { details })
}

/** Reads the refund once its id is known: a refund made in the dashboard lacks Matte's id and would be paid twice. */
export async function payRefund(deps: PaymentDeps, refund: RefundRow): Promise<RefundRow> {
  const { db, provider } = deps
  const own = { workspaceId: refund.workspace_id, id: refund.id }
  const order = await findOwn(db, 'payment_order', { workspaceId: own.workspaceId, id: refund.order_id })
  const paymentId = order?.payment_id
  if (refund.status !== 'pending' || paymentId == null || order?.provider !== provider.name) return refund
  const reading = await nextReading(db)
  try {
    const facts = await makeOrRead(deps, refund, paymentId)
    if (facts !== undefined) await db.transaction().execute((tx) => applyFacts(tx, deps, { facts, reading }))
    if (order.subscription_id !== null) await tryEndRefunded(deps, order.subscription_id)
  } catch (error) {
    // A rejected read proves nothing about the money.
    if (error instanceof ProviderRefused && refund.provider_refund_id === null) await fail(deps, refund, error.message)
    else if (!(error instanceof ProviderUnavailable)) throw error
  }
  return (await findOwn(db, 'refund', own)) ?? refund
}

async function makeOrRead({ provider }: PaymentDeps, refund: RefundRow, paymentId: string): Promise<Facts | undefined> {
  const { id: refundId, provider_refund_id: known, amount, currency } = refund
  if (known !== null) return provider.read({ kind: 'refund', id: known })
  return { refund: await provider.refund({ refundId, paymentId, amount, currency }) }
}

const fail = ({ db, ...deps }: PaymentDeps, { workspace_id: workspaceId, id }: RefundRow, failure: string) =>
  db.transaction().execute(async (tx) => {
    const context = await lockForApply(tx, { db, ...deps }, workspaceId)
    const current = await findOwn(tx, 'refund', { workspaceId, id })
    if (current?.status === 'pending') await failRefund(context, current, failure)
  })
