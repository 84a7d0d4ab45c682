import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import type { Role } from '@matte/core/workspace/role'
import { sql } from 'kysely'

export const teamNotFound = (): MatteError => new MatteError('NOT_FOUND', 'There is no such team.')

export async function isTeam(db: Db, id: string): Promise<boolean> {
  const team = await liveTeam(db, id).select('id').executeTakeFirst()
  return team !== undefined
}

const liveTeam = (db: Db, id: string) =>
  db.selectFrom('workspace').where('id', '=', id).where('personal_of', 'is', null).where('deleted_at', 'is', null)

export type TeamMember = { readonly teamId: string; readonly userId: string }

type LockedTeam = { readonly id: string; readonly name: string; readonly plan: string; readonly role: Role }

/** Locks the team and reads the actor's current role. @throws MatteError NOT_FOUND: not a member; AUTH_FORBIDDEN */
export async function lockTeam(tx: Db, member: TeamMember, allowed: readonly Role[]): Promise<LockedTeam> {
  const team = await liveTeam(tx, member.teamId).select(['id', 'name', 'plan']).forNoKeyUpdate().executeTakeFirst()
  const role = team && (await findRole(tx, member))
  if (team === undefined || role === undefined) throw teamNotFound()
  if (!allowed.includes(role)) {
    throw new MatteError('AUTH_FORBIDDEN', `This requires one of the roles ${allowed.join(', ')}.`, {
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

/** Serializes transactions that count the same rows, until the transaction ends. */
export const lockCount = (tx: Db, what: 'teams' | 'inviter', of: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`matte.${what}.${of}`}, 0))`.execute(tx)
