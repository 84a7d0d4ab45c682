import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import type { Role } from '../workspace/role.ts'

export type TeamRow = {
  readonly id: string
  readonly name: string
  readonly plan: string
  /** Of the person who asks. */
  readonly role: Role
  readonly memberCount: number
  readonly createdAt: Date
}

export const teamNotFound = (): MatteError => new MatteError('NOT_FOUND', 'There is no such team.')

const shownTeams = (db: Db, userId: string) =>
  db
    .selectFrom('membership as s')
    .innerJoin('workspace as w', 'w.id', 's.workspace_id')
    .select(['w.id', 'w.name', 'w.plan', 's.role', 'w.created_at as createdAt'])
    .select(sql<number>`(select count(*) from membership o where o.workspace_id = w.id)`.as('memberCount'))
    .where('s.user_id', '=', userId)

/** Undefined: not a member of it. The personal workspace is answered as well, as a team of one. */
export function findTeam(db: Db, teamId: string, userId: string): Promise<TeamRow | undefined> {
  return shownTeams(db, userId).where('w.id', '=', teamId).executeTakeFirst()
}

/** Teams that are answered in a list; nobody is in so many. */
const listedMax = 1_000

/** The teams that a person is in, the newest membership first. */
export function listTeams(db: Db, userId: string): Promise<TeamRow[]> {
  return shownTeams(db, userId)
    .where('w.personal_of', 'is', null)
    .orderBy('s.created_at', 'desc')
    .orderBy('w.id', 'desc')
    .limit(listedMax)
    .execute()
}

/** False of a personal workspace, of a deleted team, and of what nobody has. */
export async function isTeam(db: Db, id: string): Promise<boolean> {
  const team = await liveTeam(db, id).select('id').executeTakeFirst()
  return team !== undefined
}

const liveTeam = (db: Db, id: string) =>
  db.selectFrom('workspace').where('id', '=', id).where('personal_of', 'is', null).where('deleted_at', 'is', null)

export type TeamMember = { readonly teamId: string; readonly userId: string }

export type LockedTeam = { readonly id: string; readonly name: string; readonly plan: string; readonly role: Role }

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

/** Nobody else counts what this names until the transaction ends, so that of two at once the second counts the first. */
export const lockCount = (tx: Db, what: 'teams' | 'inviter' | 'invited', of: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`matte.${what}.${of}`}, 0))`.execute(tx)
