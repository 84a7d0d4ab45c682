import { recordChange } from '@matte/core/audit/record-change'
import type { Db } from '@matte/core/db/database'
import type { TeamInviteTable } from '@matte/core/db/tables/team'
import { MatteError } from '@matte/core/error'
import { createOnce, type OnceRequest } from '@matte/core/idempotency/create-once'
import { lockWorkspace } from '@matte/core/workspace/workspace-queries'
import { sql } from 'kysely'
import type { Doer } from './create-team.ts'
import { hashInviteToken, inviteNotFound } from './invite-queries.ts'
import { findRole } from './lock-team.ts'
import { membersMax } from './team-queries.ts'

type AcceptInvite = {
  readonly doer: Doer
  readonly token: string
  readonly once?: OnceRequest | undefined
}

type Invite = {
  readonly id: string
  readonly teamId: string
  readonly role: TeamInviteTable['role']
  readonly ending: TeamInviteTable['ending']
  readonly expired: boolean
  /** A billing invitation whose sender is no longer an owner. */
  readonly isUnbacked: boolean
  readonly isForPerson: boolean
}

/**
 * Makes the user a member and returns the team's id. Accepting, revoking and inviting lock the team's row first.
 * @throws MatteError NOT_FOUND: unknown token; AUTH_FORBIDDEN: another address; CONFLICT: used, revoked, replaced or
 *   expired, already a member, or the team is full; AlreadyCreated
 */
export function acceptInvite(db: Db, { doer, token, once }: AcceptInvite): Promise<{ id: string }> {
  return createOnce(db, once, async (tx) => {
    const { userId } = doer
    const tokenHash = hashInviteToken(token)
    const found = await tx
      .selectFrom('team_invite')
      .select('workspace_id')
      .where('token_hash', '=', tokenHash)
      .executeTakeFirst()
    if (found === undefined) throw inviteNotFound()
    const teamId = found.workspace_id
    await lockWorkspace(tx, teamId)
    const invite = await readInvite(tx, tokenHash, userId)
    if (invite === undefined) throw inviteNotFound()
    await refuse(tx, invite, userId)
    await tx.insertInto('membership').values({ workspace_id: teamId, user_id: userId, role: invite.role }).execute()
    await tx
      .updateTable('team_invite')
      .set({ ended_at: sql<Date>`now()`, ending: 'accepted' })
      .where('id', '=', invite.id)
      .execute()
    const change = { workspaceId: teamId, action: 'acceptTeamInvite', target: invite.id, reason: null }
    await recordChange(tx, { ...doer.origin, ...change })
    return { id: teamId }
  })
}

async function readInvite(tx: Db, tokenHash: Buffer, userId: string): Promise<Invite | undefined> {
  return tx
    .selectFrom('team_invite as i')
    .leftJoin('app_user as u', (join) => join.on('u.id', '=', userId))
    .select(['i.id', 'i.workspace_id as teamId', 'i.role', 'i.ending'])
    .select(sql<boolean>`i.expires_at <= now()`.as('expired'))
    .select(isUnbacked.as('isUnbacked'))
    .select(
      sql<boolean>`coalesce(u.email_key = i.email_key and u.email_verified_at is not null, false)`.as('isForPerson'),
    )
    .where('i.token_hash', '=', tokenHash)
    .executeTakeFirst()
}

const isUnbacked = sql<boolean>`
  i.role = 'billing' and not exists (
    select from membership m
     where m.workspace_id = i.workspace_id and m.user_id = i.invited_by and m.role = 'owner')`

/** The address is checked first, so other users learn nothing else about the invitation. */
async function refuse(tx: Db, invite: Invite, userId: string): Promise<void> {
  const { teamId, ending, expired, isUnbacked, isForPerson } = invite
  if (!isForPerson) {
    throw new MatteError('AUTH_FORBIDDEN', 'This invitation is for another address. Sign in with that address.')
  }
  if ((await findRole(tx, { teamId, userId })) !== undefined) {
    throw new MatteError('CONFLICT', 'You are already a member of this team.')
  }
  const status = ending ?? (isUnbacked ? 'revoked' : expired ? 'expired' : undefined)
  if (status !== undefined) {
    throw new MatteError('CONFLICT', 'This invitation is no longer valid. Ask for a new one.', { details: { status } })
  }
  const { count } = await tx
    .selectFrom('membership')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', teamId)
    .executeTakeFirstOrThrow()
  if (count >= membersMax) {
    throw new MatteError('CONFLICT', `A team can have at most ${membersMax} members.`, {
      details: { limit: membersMax },
    })
  }
}
