import { type SweepPass, sumEach } from '../../db/sweep.ts'
import { timeOf } from '../apply/applying.ts'
import { refundCheckSeconds } from '../apply/insert-refund.ts'
import type { PaymentDeps } from '../payment-deps.ts'
import { payRefund } from '../refunds.ts'
import { findOwn } from '../rows/list-own.ts'
import { listDue, setCheck, takeDue } from './list-due.ts'

export async function checkRefunds(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  return sumEach(await listDue(deps, 'refund', pass), pass, async (due) => {
    if (!(await takeDue(deps, 'refund', due))) return 0
    const { id, workspaceId } = due
    const now = await timeOf(deps.db, deps)
    // First, so that a refund whose provider hangs does not delay the others.
    await setCheck(deps.db, { table: 'refund', id }, new Date(now.getTime() + 5 * refundCheckSeconds * 1_000))
    const refund = await findOwn(deps.db, 'refund', { workspaceId, id })
    if (refund?.status === 'pending') await payRefund(deps, refund)
    else await setCheck(deps.db, { table: 'refund', id }, null)
    return 1
  })
}
