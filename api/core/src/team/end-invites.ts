import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { TeamMember } from './lock-team.ts'

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
