import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { createOnce, type OnceRequest } from '../idempotency/create-once.ts'
import { invalidParam } from '../invalid-params.ts'
import { applyFacts, beginApplying } from './apply/apply-facts.ts'
import { failRefund } from './apply/apply-refund.ts'
import { nextReading } from './apply/applying.ts'
import { findLeft } from './apply/credits-left.ts'
import { insertRefund, type RefundRow, refundableOf } from './apply/insert-refund.ts'
import { creditsForRefund, refundableAmount } from './apply/refund-share.ts'
import { tryEndPaidBack } from './paid-back.ts'
import type { PaymentDeps } from './payment-deps.ts'
import type { Facts } from './provider/provider.ts'
import { ProviderRefused, ProviderUnavailable } from './provider/provider-errors.ts'
import { isChanging } from './rows/is-changing.ts'
import { findOwn } from './rows/list-own.ts'
import type { OrderRow } from './rows/order-queries.ts'

type NewRefund = {
  readonly workspaceId: string
  readonly orderId: string
  /** Minor units; without it all that can be refunded. */
  readonly amount?: number | undefined
  readonly reason: string
  /** Null: an operator. */
  readonly userId: string | null
  readonly once: OnceRequest | undefined
}

/**
 * Pays money back for credits that are left (D71). The credits go first, in the transaction that makes the refund; if
 * the money does not, they come back. A provider that cannot be reached leaves the refund pending, and the dispatcher
 * goes on with it.
 * @throws MatteError NOT_FOUND, CONFLICT, INVALID_PARAMS
 */
export async function createRefund(deps: PaymentDeps, refund: NewRefund): Promise<RefundRow> {
  const { workspaceId, orderId, once } = refund
  const made = await createOnce(deps.db, once, async (tx) => {
    const applying = await beginApplying(tx, deps, workspaceId)
    const order = await findOwn(tx, 'payment_order', { workspaceId, id: orderId })
    if (order === undefined) throw new MatteError('NOT_FOUND', 'There is no such order.')
    refuseUnrefundable(deps, order)
    if (refund.userId !== null) refuseLate(deps, order, applying.now)
    await refuseChanging(tx, order)
    const left = await findLeft(applying, order)
    const sold = refundableOf(order, left)
    const amount = judgeAmount(order, refundableAmount(sold), refund.amount)
    const credits = creditsForRefund(sold, amount)
    const { reason, userId: createdBy } = refund
    return insertRefund(applying, order, { amount, credits, left, reason, createdBy, providerRefundId: null })
  })
  return payRefund(deps, made)
}

function refuseUnrefundable({ provider }: PaymentDeps, order: OrderRow): void {
  if (order.status !== 'paid' && order.status !== 'partially_refunded') {
    throw new MatteError('CONFLICT', `The order is ${order.status}.`, { details: { status: order.status } })
  }
  if (order.payment_id === null || order.provider !== provider.name) {
    const message = `Its provider, ${order.provider}, is not asked from here; refund it there.`
    throw new MatteError('CONFLICT', message, { details: { provider: order.provider } })
  }
}

const dayMs = 24 * 60 * 60 * 1_000

/** Members refund what was paid lately; operators refund at any time. */
function refuseLate({ selfRefundDays }: PaymentDeps, { paid_at: paidAt }: OrderRow, now: Date): void {
  if (paidAt !== null && now.getTime() < paidAt.getTime() + selfRefundDays * dayMs) return
  const why =
    selfRefundDays === 0 ? 'Members make no refunds here.' : `The order was paid more than ${selfRefundDays} days ago.`
  throw new MatteError('CONFLICT', `${why} Ask the operator of this service.`, { details: { selfRefundDays } })
}

/**
 * A change has what is unused of a period credited by the provider, so that it would be given back twice. The row is
 * locked: a change that begins meanwhile waits, and sees the refund.
 */
async function refuseChanging(tx: Db, { subscription_id: id }: OrderRow): Promise<void> {
  if (id === null) return
  if (!(await isChanging(tx, id))) return
  throw new MatteError('CONFLICT', 'The subscription is being changed; try again in a minute.')
}

function judgeAmount(order: OrderRow, most: number, asked: number | undefined): number {
  const details = { refundable: most, currency: order.currency }
  if (most === 0) throw new MatteError('CONFLICT', 'Nothing is left to refund of this order.', { details })
  if (asked === undefined || asked === most) return most
  if (asked < most) return asked
  throw asked > order.amount
    ? invalidParam('/body/amount', `must be at most ${order.amount}, what the order cost`)
    : new MatteError('CONFLICT', `Of this order ${most} can be refunded, in minor units.`, { details })
}

/**
 * Makes the refund at the provider, or reads it there once its id is known: a refund that was made in the provider's
 * dashboard does not carry our id, so asking for it would pay twice. Returns the refund as it then is.
 */
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
    if (order.subscription_id !== null) await tryEndPaidBack(deps, order.subscription_id)
  } catch (error) {
    // A refused read says nothing about the money.
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
    const applying = await beginApplying(tx, { db, ...deps }, workspaceId)
    const current = await findOwn(tx, 'refund', { workspaceId, id })
    if (current?.status === 'pending') await failRefund(applying, current, failure)
  })
