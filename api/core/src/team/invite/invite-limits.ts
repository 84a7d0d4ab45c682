// Invitations are mails to whom the inviter likes, so they are counted (A100): by person and by team, lest many be
// sent; by address mail-room.ts counts. The rows that are counted are the mails that were sent.
import { sql } from 'kysely'
import { foldAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { lockCount } from '../lock-count.ts'
import type { TeamMember } from '../lock-team.ts'

/** Open ones of a team; a list shows them whole. */
const openInvitesMax = 100
/** In 24 hours. */
const perDayMax = { inviter: 50, team: 100 } as const
/** Ended and expired ones are forgotten after this, with the next that is sent. */
const keptDays = 30

type Counts = {
  readonly open: number
  readonly inviter: number
  readonly team: number
}

/** @throws MatteError CONFLICT: too many open; RATE_LIMIT_EXCEEDED: too many sent */
export async function refuseTooMany(tx: Db, { teamId, userId }: TeamMember, email: string): Promise<void> {
  await lockCount(tx, 'inviter', userId)
  await forgetOld(tx, teamId)
  const { rows } = await sql<Counts>`
    with recent as (
      select workspace_id, invited_by
        from team_invite
       where created_at > now() - interval '24 hours'
         and (workspace_id = ${teamId} or invited_by = ${userId})
    )
    select count(*) filter (where invited_by = ${userId}) as inviter,
           count(*) filter (where workspace_id = ${teamId}) as team,
           (select count(*) from team_invite
             where workspace_id = ${teamId} and ended_at is null and expires_at > now()
               and email_key is distinct from ${foldAddress(email)}) as open
      from recent`.execute(tx)
  const counts = rows[0] as Counts // an aggregate without GROUP BY has one row
  if (counts.open >= openInvitesMax) {
    throw new MatteError('CONFLICT', `This team has ${counts.open} open invitations; take some back first.`, {
      details: { limit: openInvitesMax },
    })
  }
  for (const limit of ['inviter', 'team'] as const) {
    if (counts[limit] < perDayMax[limit]) continue
    throw new MatteError('RATE_LIMIT_EXCEEDED', 'Too many invitations were sent in the last 24 hours.', {
      details: { limit, perDay: perDayMax[limit] },
      retryAfterSeconds: 3_600,
    })
  }
}

const forgetOld = (tx: Db, teamId: string) =>
  tx
    .deleteFrom('team_invite')
    .where('workspace_id', '=', teamId)
    .where(sql<boolean>`expires_at < now() - ${keptDays} * interval '1 day'`)
    .execute()
