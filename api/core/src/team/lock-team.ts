import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import type { Role } from '../workspace/role.ts'

export const teamNotFound = (): MatteError => new MatteError('NOT_FOUND', 'There is no such team.')

/** False of a personal workspace, of a deleted team, and of what nobody has. */
export async function isTeam(db: Db, id: string): Promise<boolean> {
  const team = await liveTeam(db, id).select('id').executeTakeFirst()
  return team !== undefined
}

const liveTeam = (db: Db, id: string) =>
  db.selectFrom('workspace').where('id', '=', id).where('personal_of', 'is', null).where('deleted_at', 'is', null)

export type TeamMember = { readonly teamId: string; readonly userId: string }

type LockedTeam = { readonly id: string; readonly name: string; readonly plan: string; readonly role: Role }

/**
 * Locks the team's row for the caller's transaction and reads the role of who changes it: what the request was let in
 * with may be some seconds old, and of two who take each other's role away the second must not succeed.
 * @throws MatteError NOT_FOUND: no team, a personal workspace, or not a member of it; AUTH_FORBIDDEN: another role
 */
export async function lockTeam(tx: Db, member: TeamMember, allowed: readonly Role[]): Promise<LockedTeam> {
  const team = await liveTeam(tx, member.teamId).select(['id', 'name', 'plan']).forNoKeyUpdate().executeTakeFirst()
  const role = team && (await findRole(tx, member))
  if (team === undefined || role === undefined) throw teamNotFound()
  if (!allowed.includes(role)) {
    throw new MatteError('AUTH_FORBIDDEN', `This needs one of the roles ${allowed.join(', ')}.`, {
      details: { required: allowed, role },
    })
  }
  return { ...team, role }
}

export async function findRole(db: Db, { teamId, userId }: TeamMember): Promise<Role | undefined> {
  const row = await db
    .selectFrom('membership')
    .select('role')
    .where('workspace_id', '=', teamId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.role
}
