import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import type { Role } from '../workspace/role.ts'

/** People of one team: what a list shows whole. */
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

/** In the order of their joining. */
export const listMembers = (db: Db, teamId: string): Promise<MemberRow[]> =>
  shownMembers(db, teamId).orderBy('s.created_at').orderBy('u.id').execute()

export const findMember = (db: Db, teamId: string, userId: string): Promise<MemberRow | undefined> =>
  shownMembers(db, teamId).where('u.id', '=', userId).executeTakeFirst()

export const memberNotFound = (): MatteError => new MatteError('NOT_FOUND', 'There is no such member of this team.')
