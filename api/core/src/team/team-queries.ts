import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
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
