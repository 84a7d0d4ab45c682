import { foldAddress } from '@matte/core/address'
import type { Db } from '@matte/core/db/database'
import { MatteError } from '@matte/core/error'
import { createOnce, type OnceRequest } from '@matte/core/idempotency/create-once'
import type { MasterKeys } from '@matte/core/runtime/seal'
import { sql } from 'kysely'
import { requireMailAllowed } from '../mail/mail-limits.ts'
import { queueMail } from '../mail/mail-queue.ts'
import { publishPersonalEvent } from '../notification/publish-events.ts'
import { generateInviteToken, hashInviteToken, type InviteRow, inviteUrl, shownInvite } from './invite-queries.ts'
import { lockCount, lockTeam, type TeamMember } from './lock-team.ts'
import { refuseInvitation } from './member-rules.ts'

type CreateInvite = {
  readonly inviter: TeamMember
  readonly email: string
  /** Excludes owner: ownership is transferred to a member. */
  readonly role: InviteRow['role']
  readonly appUrl: string
  readonly once?: OnceRequest | undefined
}

const validDays = 7

/**
 * Invites an address to a team and replaces its open invitation. The response does not reveal whether the address has
 * an account: every address gets the mail, and an account also gets the event.
 * @throws MatteError NOT_FOUND, AUTH_FORBIDDEN, CONFLICT: already a member, or too many open; RATE_LIMIT_EXCEEDED;
 *   AlreadyCreated
 */
export function createInvite(db: Db, masterKeys: MasterKeys, request: CreateInvite): Promise<InviteRow> {
  const { inviter, email, role, appUrl, once } = request
  return createOnce(db, once, async (tx) => {
    const team = await lockTeam(tx, inviter, ['owner', 'admin'])
    const refusal = refuseInvitation(team.role, role)
    if (refusal !== undefined) throw refusal
    if (await isMember(tx, team.id, email)) throw new MatteError('CONFLICT', 'This address is already a member.')
    await refuseTooMany(tx, inviter, email)
    await replaceOpen(tx, team.id, email)
    const token = generateInviteToken()
    const invite = await insertInvite(tx, { inviter, email, role, token })
    await requireMailAllowed(tx, email)
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
  const inviter = await tx
    .selectFrom('app_user')
    .select(['email', 'locale'])
    .where('id', '=', invitedBy)
    .executeTakeFirstOrThrow()
  const account = await findAccount(tx, email)
  await queueMail(tx, masterKeys, {
    key: `team-invitation:${id}`,
    to: account?.email ?? email,
    userId: account?.id ?? null,
    template: 'team-invitation',
    data: { teamName: team.name, inviterEmail: inviter.email, inviterLocale: inviter.locale, role, url },
  })
  if (account === undefined) return
  const fields = { team_name: team.name, inviter_email: inviter.email, role, invite_url: url }
  const message = `${inviter.email} invites you to the team ${team.name}.`
  await publishPersonalEvent(tx, account.id, { event: 'team.invitation', key: id, fields: { ...fields, message } })
}

/** Requires a verified address, because the event carries the invitation's token. */
const findAccount = (tx: Db, email: string) =>
  tx
    .selectFrom('app_user')
    .select(['id', 'email'])
    .where('email_key', '=', foldAddress(email))
    .where('erased_at', 'is', null)
    .where('disabled_at', 'is', null)
    .where('email_verified_at', 'is not', null)
    .executeTakeFirst()

/** Open invitations per team; they are listed without pages. */
const openInvitesMax = 100
const perDayMax = { inviter: 50, team: 100 } as const
/** Days that expired invitations are kept; the next invitation deletes older ones. */
const keptDays = 30

type Counts = {
  readonly open: number
  readonly inviter: number
  readonly team: number
}

/** Limits per inviter and team; the limits per address are in mail/. @throws MatteError CONFLICT, RATE_LIMIT_EXCEEDED */
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
    throw new MatteError('CONFLICT', `This team has ${counts.open} open invitations. Revoke some first.`, {
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
