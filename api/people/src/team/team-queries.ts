import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import type { Role } from '@matte/core/workspace/role'
import { sql } from 'kysely'

export type TeamRow = {
  readonly id: string
  readonly name: string
  readonly plan: string
  readonly role: Role
  readonly memberCount: number
  readonly createdAt: Date
  readonly maxKeyDays: number | null
}

const shownTeams = (db: Db, userId: string) =>
  db
    .selectFrom('membership as s')
    .innerJoin('workspace as w', 'w.id', 's.workspace_id')
    .select(['w.id', 'w.name', 'w.plan', 's.role', 'w.created_at as createdAt', 'w.max_key_days as maxKeyDays'])
    .select(sql<number>`(select count(*) from membership o where o.workspace_id = w.id)`.as('memberCount'))
    .where('s.user_id', '=', userId)

/** Undefined for non-members. Also finds the personal workspace, as a team of one. */
export function findTeam(db: Db, teamId: string, userId: string): Promise<TeamRow | undefined> {
  return shownTeams(db, userId).where('w.id', '=', teamId).executeTakeFirst()
}

/** Bound of a list without pages, above any real number of teams. */
const listedMax = 1_000

export function listTeams(db: Db, userId: string): Promise<TeamRow[]> {
  return shownTeams(db, userId)
    .where('w.personal_of', 'is', null)
    .orderBy('s.created_at', 'desc')
    .orderBy('w.id', 'desc')
    .limit(listedMax)
    .execute()
}

export const membersMax = 500

export type MemberRow = {
  readonly userId: string
  readonly email: string
  readonly name: string | null
  readonly role: Role
  readonly joinedAt: Date
}

const shownMembers = (db: Db, teamId: string) =>
  db
    .selectFrom('membership as s')
    .innerJoin('app_user as u', 'u.id', 's.user_id')
    .select(['u.id as userId', 'u.email', 'u.name', 's.role', 's.created_at as joinedAt'])
    .where('s.workspace_id', '=', teamId)

export const listMembers = (db: Db, teamId: string): Promise<MemberRow[]> =>
  shownMembers(db, teamId).orderBy('s.created_at').orderBy('u.id').execute()

export const findMember = (db: Db, teamId: string, userId: string): Promise<MemberRow | undefined> =>
  shownMembers(db, teamId).where('u.id', '=', userId).executeTakeFirst()

export const memberNotFound = (): MatteError => new MatteError('NOT_FOUND', 'There is no such member of this team.')
