import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'
import type { Plans } from '../../workspace/plan.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { grantDueMonth } from '../operator-plan.ts'

/**
 * Grants the month's credits where they are due, a transaction a workspace; returns how many workspaces. What another
 * replica has granted meanwhile is the same grant.
 */
export async function grantDuePlans(db: Db, plans: Plans, pass: SweepPass = {}): Promise<number> {
  const due = await db
    .selectFrom('workspace')
    .select('id')
    .where('plan_credits_due_at', '<=', sql<Date>`now()`)
    // Of a team or an account that has ended nobody spends them.
    .where('deleted_at', 'is', null)
    .where(sql<boolean>`id <> all(${idsAside(pass)}::uuid[])`)
    .orderBy('plan_credits_due_at')
    .limit(pass.limit ?? 100)
    .execute()
  return sumEach(due, pass, ({ id }) =>
    db.transaction().execute(async (tx) => {
      const workspace = await lockWorkspace(tx, id)
      if (workspace === undefined) return 0
      await grantDueMonth(tx, plans, workspace)
      return 1
    }),
  )
}
