import { type SweepPass, sumEach } from '../../db/sweep.ts'
import { beginApplying } from '../apply/apply-facts.ts'
import { closeOrder, isOpen } from '../apply/apply-order.ts'
import type { PaymentDeps } from '../payment-deps.ts'
import { findOwn } from '../rows/list-own.ts'
import { listDue, readAgain, setCheck, takeDue } from './list-due.ts'

/** An open order is asked about hourly at first, then less often; one without a checkout is given up after a day. */
export async function checkOrders(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  return sumEach(await listDue(deps, 'payment_order', pass), pass, async (due) => {
    if (!(await takeDue(deps, 'payment_order', due))) return 0
    const { id, workspaceId } = due
    const order = await findOwn(deps.db, 'payment_order', { workspaceId, id })
    if (order === undefined) return 0
    if (order.checkout_id !== null && order.provider === deps.provider.name) {
      await readAgain(deps, { kind: 'checkout', id: order.checkout_id })
    }
    await deps.db.transaction().execute(async (tx) => {
      const { now } = await beginApplying(tx, deps, workspaceId)
      const current = await findOwn(tx, 'payment_order', { workspaceId, id })
      if (current === undefined || !isOpen(current)) return setCheck(tx, { table: 'payment_order', id }, null)
      const ageMs = now.getTime() - current.created_at.getTime()
      const isAsked = current.checkout_id !== null && current.provider === deps.provider.name
      if (!isAsked && ageMs > givenUpMs) return closeOrder(tx, id)
      return setCheck(tx, { table: 'payment_order', id }, new Date(now.getTime() + Math.max(hourMs, ageMs)))
    })
    return 1
  })
}

const hourMs = 60 * 60 * 1_000
const givenUpMs = 24 * hourMs
