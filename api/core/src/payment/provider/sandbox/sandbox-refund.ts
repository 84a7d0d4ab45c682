// Refunds of the sandbox succeed at once. Those of an order that was paid so come back a while later.
import type { Db } from '../../../db/database.ts'
import type { NewRefund, RefundFacts } from '../provider.ts'
import { checkoutId, sendEvents } from './sandbox-events.ts'
import { findPaid, lockState, readState, writeState } from './sandbox-objects.ts'

const comesBackMs = 60 * 60 * 1_000

export async function refundPayment(db: Db, { refundId, paymentId, amount }: NewRefund, now: Date) {
  const id = `sandbox_refund_${refundId}`
  const made = await readState(db, 'refund', id)
  if (made !== undefined) return made
  const state: RefundFacts = { id, refundId, paymentId, amount, status: 'succeeded', failure: null }
  const failsAt = (await failsRefunds(db, paymentId)) ? new Date(now.getTime() + comesBackMs) : null
  await db.transaction().execute(async (tx) => {
    await writeState(tx, { kind: 'refund', id, state }, failsAt)
    const about = { kind: 'refund', id } as const
    await sendEvents(tx, [{ type: 'refund.succeeded', about }], { outcome: 'succeed', now })
  })
  return state
}

async function failsRefunds(db: Db, paymentId: string): Promise<boolean> {
  const paid = await findPaid(db, paymentId)
  if (paid === undefined) return false
  const orderId = (await readState(db, paid.kind, paid.id))?.orderId
  return orderId !== undefined && (await readState(db, 'checkout', checkoutId(orderId)))?.failsRefunds === true
}

/** Answers how many: none where another process has done it meanwhile. */
export async function failDueRefund(tx: Db, id: string, now: Date): Promise<number> {
  const state = await lockState(tx, 'refund', id)
  if (state?.status !== 'succeeded') return 0
  await writeState(tx, { kind: 'refund', id, state: { ...state, status: 'failed', failure: 'The account is closed.' } })
  const about = { kind: 'refund', id } as const
  await sendEvents(tx, [{ type: 'refund.failed', about }], { outcome: 'succeed', now })
  return 1
}
