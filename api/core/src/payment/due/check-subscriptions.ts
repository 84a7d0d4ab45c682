import { type SweepPass, sumEach } from '../../db/sweep.ts'
import { beginApplying } from '../apply/apply-facts.ts'
import type { Applying } from '../apply/applying.ts'
import { dayMs, graceDays, refreshPlan } from '../apply/plan-in-force.ts'
import { endPaidBack } from '../paid-back.ts'
import type { PaymentDeps } from '../payment-deps.ts'
import { findSubscriptionBy } from '../rows/subscription-queries.ts'
import { listDue, readAgain, takeDue } from './list-due.ts'
import { endSurplus } from './surplus.ts'

export async function checkSubscriptions(deps: PaymentDeps, pass: SweepPass): Promise<number> {
  return sumEach(await listDue(deps, 'subscription', pass), pass, async (due) => {
    if (!(await takeDue(deps, 'subscription', due))) return 0
    const { id, workspaceId } = due
    const subscription = await findSubscriptionBy(deps.db, 'id', id)
    if (subscription === undefined) return 0
    if (subscription.provider === deps.provider.name) {
      await readAgain(deps, { kind: 'subscription', id: subscription.provider_id })
    }
    await deps.db.transaction().execute(async (tx) => {
      const applying = await beginApplying(tx, deps, workspaceId)
      if (subscription.provider !== deps.provider.name) await endUncollected(applying, id)
      await refreshPlan(applying)
    })
    await endSurplus(deps, { id, workspaceId })
    await endPaidBack(deps, id)
    return 1
  })
}

/**
 * Nobody collects for a subscription whose provider is no longer asked: it is over with what was paid, or its workspace
 * could never have another one. Asked again after all, the provider says what is true.
 */
const endUncollected = ({ tx, now }: Applying, id: string) =>
  tx
    .updateTable('subscription')
    .set({ status: 'canceled', ended_at: now, check_at: null })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .where('period_end', '<', new Date(now.getTime() - graceDays * dayMs))
    .execute()
