import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { idsAside, type SweepPass, sumEach } from '../../db/sweep.ts'
import type { Plans } from '../../workspace/plan.ts'
import { lockWorkspace } from '../../workspace/workspace-queries.ts'
import { grantDueMonth } from '../operator-plan.ts'

/** Grants monthly credits that are due, one transaction per workspace; returns the number of workspaces. */
export async function grantDuePlans(db: Db, plans: Plans, pass: SweepPass = {}): Promise<number> {
  const due = await db
    .selectFrom('workspace')
    .select('id')
    .where('plan_credits_due_at', '<=', sql<Date>`now()`)
    // Deleted workspaces get no credits.
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
