import type { Db } from '../../db/database.ts'
import { findOwnWorkspace } from './own-workspaces.ts'
import type { FindSubscription } from './subscription.ts'

type OwnPlanDeps<Balance> = {
  readonly db: Db
  readonly findSubscription: FindSubscription
  readonly readBalance: (db: Db, workspaceId: string) => Promise<Balance>
}

type Person = Parameters<typeof findOwnWorkspace>[1]

/**
 * Plan, subscription and credits of a person's workspace, as they were at one moment: a change of plan is in all of
 * them or in none. Undefined: the person was erased.
 */
export function readOwnPlan<Balance>(deps: OwnPlanDeps<Balance>, person: Person) {
  const { db, findSubscription, readBalance } = deps
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const workspace = await findOwnWorkspace(tx, person)
      if (workspace === undefined) return undefined
      const { id: workspaceId, plan } = workspace
      const subscription = await findSubscription(tx, workspaceId)
      return { workspaceId, plan, subscription, balance: await readBalance(tx, workspaceId) }
    })
}
