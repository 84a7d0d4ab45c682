import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { TeamInviteTable } from '../../db/tables/team.ts'

export type InviteRow = {
  readonly id: string
  readonly email: string
  readonly role: TeamInviteTable['role']
  readonly invitedBy: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

/** Not ended, and not expired. */
export const isOpen = sql<boolean>`(ended_at is null and expires_at > now())`

export const shownInvite = [
  'id',
  'email',
  'role',
  'invited_by as invitedBy',
  'created_at as createdAt',
  'expires_at as expiresAt',
] as const

/** The open ones of a team, newest first. */
export const listInvites = (db: Db, teamId: string): Promise<InviteRow[]> =>
  db
    .selectFrom('team_invite')
    .select(shownInvite)
    .where('workspace_id', '=', teamId)
    .where(isOpen)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()

/** Undefined: unknown, another team's, or no longer open. */
export const findInvite = (db: Db, teamId: string, id: string): Promise<InviteRow | undefined> =>
  db
    .selectFrom('team_invite')
    .select(shownInvite)
    .where('id', '=', id)
    .where('workspace_id', '=', teamId)
    .where(isOpen)
    .executeTakeFirst()
