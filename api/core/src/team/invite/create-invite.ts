import { sql } from 'kysely'
import { foldAddress } from '../../address.ts'
import type { Db } from '../../db/database.ts'
import { MatteError } from '../../error.ts'
import { createOnce, type OnceRequest } from '../../idempotency/create-once.ts'
import { requireMailRoom } from '../../mail/mail-room.ts'
import { queueMail } from '../../mail/queue-mail.ts'
import { publishPersonalEvent } from '../../notification/personal-event.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { lockTeam, type TeamMember } from '../lock-team.ts'
import { refuseInvitation } from '../member-rules.ts'
import { refuseTooMany } from './invite-limits.ts'
import { type InviteRow, shownInvite } from './invite-queries.ts'
import { generateInviteToken, hashInviteToken, inviteUrl } from './invite-token.ts'

type CreateInvite = {
  readonly inviter: TeamMember
  readonly email: string
  /** Never owner: that is handed over by who has it. */
  readonly role: InviteRow['role']
  /** Where the web app is. */
  readonly appUrl: string
  /** The request's idempotency key, if it has one. */
  readonly once?: OnceRequest | undefined
}

const validDays = 7

/**
 * Invites an address to a team. An open invitation of it ends with the new one, whose token alone then works. Whether
 * the address has an account is told to nobody: it gets the mail in any case, and its account the event.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, CONFLICT: a member already, or too many open; RATE_LIMIT_EXCEEDED;
 *   AlreadyCreated
 */
export function createInvite(db: Db, masterKeys: MasterKeys, request: CreateInvite): Promise<InviteRow> {
  const { inviter, email, role, appUrl, once } = request
  return createOnce(db, once, async (tx) => {
    const team = await lockTeam(tx, inviter, ['owner', 'admin'])
    const refusal = refuseInvitation(team.role, role)
    if (refusal !== undefined) throw refusal
    if (await isMember(tx, team.id, email)) throw new MatteError('CONFLICT', 'This address is a member already.')
    await refuseTooMany(tx, inviter, email)
    await replaceOpen(tx, team.id, email)
    const token = generateInviteToken()
    const invite = await insertInvite(tx, { inviter, email, role, token })
    await requireMailRoom(tx, email)
    await sendInvite(tx, masterKeys, { team, invite, url: inviteUrl(appUrl, token) })
    return invite
  })
}

async function isMember(tx: Db, teamId: string, email: string): Promise<boolean> {
  const member = await tx
    .selectFrom('membership as s')
    .innerJoin('app_user as u', 'u.id', 's.user_id')
    .select('u.id')
    .where('s.workspace_id', '=', teamId)
    .where('u.email_key', '=', foldAddress(email))
    .executeTakeFirst()
  return member !== undefined
}

const replaceOpen = (tx: Db, teamId: string, email: string) =>
  tx
    .updateTable('team_invite')
    .set({ ended_at: sql<Date>`now()`, ending: 'replaced' })
    .where('workspace_id', '=', teamId)
    .where('email_key', '=', foldAddress(email))
    .where('ended_at', 'is', null)
    .execute()

type NewInvite = Pick<CreateInvite, 'inviter' | 'email' | 'role'> & { readonly token: string }

const insertInvite = (tx: Db, { inviter, email, role, token }: NewInvite): Promise<InviteRow> =>
  tx
    .insertInto('team_invite')
    .values({
      workspace_id: inviter.teamId,
      email,
      email_key: foldAddress(email),
      role,
      token_hash: hashInviteToken(token),
      invited_by: inviter.userId,
      expires_at: sql<Date>`now() + ${validDays} * interval '1 day'`,
    })
    .returning(shownInvite)
    .executeTakeFirstOrThrow()

type Sent = { readonly team: { readonly name: string }; readonly invite: InviteRow; readonly url: string }

async function sendInvite(tx: Db, masterKeys: MasterKeys, { team, invite, url }: Sent): Promise<void> {
  const { id, email, role, invitedBy } = invite
  const inviter = await tx.selectFrom('app_user').select('email').where('id', '=', invitedBy).executeTakeFirstOrThrow()
  const account = await findAccount(tx, email)
  await queueMail(tx, masterKeys, {
    key: `team-invitation:${id}`,
    to: account?.email ?? email,
    userId: account?.id ?? null,
    template: 'team-invitation',
    data: { teamName: team.name, inviterEmail: inviter.email, role, url },
  })
  if (account === undefined) return
  const fields = { team_name: team.name, inviter_email: inviter.email, role, invite_url: url }
  const message = `${inviter.email} invites you to the team ${team.name}.`
  await publishPersonalEvent(tx, account.id, { event: 'team.invitation', key: id, fields: { ...fields, message } })
}

/** An account that proved the address to be its own: nobody else may read a token that was meant for it. */
const findAccount = (tx: Db, email: string) =>
  tx
    .selectFrom('app_user')
    .select(['id', 'email'])
    .where('email_key', '=', foldAddress(email))
    .where('erased_at', 'is', null)
    .where('disabled_at', 'is', null)
    .where('email_verified_at', 'is not', null)
    .executeTakeFirst()
