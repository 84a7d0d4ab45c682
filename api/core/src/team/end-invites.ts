import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import { MatteError } from '../error.ts'
import { isOpen } from './invite-queries.ts'
import { lockTeam, type TeamMember } from './team-queries.ts'

export const inviteNotFound = (): MatteError => new MatteError('NOT_FOUND', 'There is no such invitation.')

/** Takes an invitation back. @throws MatteError NOT_FOUND, also when it was used; AUTH_FORBIDDEN */
export function revokeInvite(db: Db, actor: TeamMember, id: string): Promise<void> {
  return db.transaction().execute(async (tx) => {
    await lockTeam(tx, actor, ['owner', 'admin'])
    const ended = await tx
      .updateTable('team_invite')
      .set({ ended_at: sql<Date>`now()`, ending: 'revoked' })
      .where('id', '=', id)
      .where('workspace_id', '=', actor.teamId)
      .where(isOpen)
      .returning('id')
      .executeTakeFirst()
    if (ended === undefined) throw inviteNotFound()
  })
}

/** Those that a member has sent: whoever may invite no more has invited nobody either. */
export const endInvitesOf = (tx: Db, { teamId, userId }: TeamMember) =>
  endInvites(tx, teamId).where('invited_by', '=', userId).execute()

export const endAllInvites = (tx: Db, teamId: string) => endInvites(tx, teamId).execute()

const endInvites = (tx: Db, teamId: string) =>
  tx
    .updateTable('team_invite')
    .set({ ended_at: sql<Date>`now()`, ending: 'revoked' })
    .where('workspace_id', '=', teamId)
    .where('ended_at', 'is', null)
