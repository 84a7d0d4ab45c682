import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { lockTeam, type TeamMember } from '../lock-team.ts'
import { isOpen } from './invite-queries.ts'

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
