import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { Role } from '../../workspace/role.ts'

type OwnWorkspace = {
  readonly id: string
  readonly name: string
  readonly kind: 'personal' | 'team'
  readonly role: Role
  readonly plan: string
  readonly joinedAt: Date
}

/** Workspaces that are answered in a list; nobody is in so many. */
const workspacesMax = 1_000

/** Where a person is a member: the personal one first, then by the time of joining. */
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

/** This workspace if the person is a member of it, else the personal one. Undefined: erased. */
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

/** Undefined: erased. */
export function findPersonalWorkspace(db: Db, userId: string) {
  return db.selectFrom('workspace').select(['id', 'plan']).where('personal_of', '=', userId).executeTakeFirst()
}
