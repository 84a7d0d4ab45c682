import type { Db } from '@matte/core/db/database'
import type { Role } from '@matte/core/workspace/role'
import { sql } from 'kysely'

type OwnWorkspace = {
  readonly id: string
  readonly name: string
  readonly kind: 'personal' | 'team'
  readonly role: Role
  readonly plan: string
  readonly joinedAt: Date
}

/** Bound of a list without pages, above any real number of memberships. */
const workspacesMax = 1_000

/** Workspaces of a user: the personal one first, then by the time of joining. */
export function listOwnWorkspaces(db: Db, userId: string): Promise<OwnWorkspace[]> {
  return db
    .selectFrom('membership as m')
    .innerJoin('workspace as w', 'w.id', 'm.workspace_id')
    .select(['w.id', 'w.name', 'w.kind', 'm.role', 'w.plan', 'm.created_at as joinedAt'])
    .where('m.user_id', '=', userId)
    .orderBy(sql`w.personal_of is not distinct from m.user_id`, 'desc')
    .orderBy('m.created_at')
    .orderBy('w.id')
    .limit(workspacesMax)
    .execute()
}

type OwnIn = { readonly userId: string; readonly workspaceId: string }

/** The named workspace if the user is a member, else the personal one. Undefined for an erased user. */
export function findOwnWorkspace(db: Db, { userId, workspaceId }: OwnIn) {
  return db
    .selectFrom('workspace as w')
    .leftJoin('membership as m', (join) => join.onRef('m.workspace_id', '=', 'w.id').on('m.user_id', '=', userId))
    .select(['w.id', 'w.plan'])
    .where((eb) =>
      eb.or([
        eb('w.personal_of', '=', userId),
        eb.and([eb('w.id', '=', workspaceId), eb('m.user_id', 'is not', null)]),
      ]),
    )
    .orderBy((eb) => eb('w.id', '=', workspaceId), 'desc')
    .limit(1)
    .executeTakeFirst()
}

export function findPersonalWorkspace(db: Db, userId: string) {
  return db.selectFrom('workspace').select(['id', 'plan']).where('personal_of', '=', userId).executeTakeFirst()
}

/** Subscription of a workspace, reduced to the needs of accounts; payments provide it. */
export type Subscription = {
  readonly status: string
  readonly period: { readonly start: Date; readonly end: Date }
  /** Whether the next period will be charged. */
  readonly renews: boolean
}

export type FindSubscription = (db: Db, workspaceId: string) => Promise<Subscription | undefined>

type OwnPlanDeps<Balance> = {
  readonly db: Db
  readonly findSubscription: FindSubscription
  readonly readBalance: (db: Db, workspaceId: string) => Promise<Balance>
}

type Person = Parameters<typeof findOwnWorkspace>[1]

/** Plan, subscription and credits of a user's workspace in one snapshot. Undefined for an erased user. */
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
