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

/** Undefined: erased. */
export function findPersonalWorkspace(db: Db, userId: string) {
  return db.selectFrom('workspace').select(['id', 'plan']).where('personal_of', '=', userId).executeTakeFirst()
}
