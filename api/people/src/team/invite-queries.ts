// Invitation tokens: 256 random bits, stored as SHA-256.

import { hash, randomBytes } from 'node:crypto'
import type { Db } from '@matte/core/db/database'
import { inTransaction } from '@matte/core/db/in-transaction'
import type { TeamInviteTable } from '@matte/core/db/tables/team'
import { MatteError } from '@matte/core/error'
import { sql } from 'kysely'
import { lockTeam, type TeamMember } from './lock-team.ts'

export type InviteRow = {
  readonly id: string
  readonly email: string
  readonly role: TeamInviteTable['role']
  readonly invitedBy: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

export const isOpen = sql<boolean>`(ended_at is null and expires_at > now())`

export const shownInvite = [
  'id',
  'email',
  'role',
  'invited_by as invitedBy',
  'created_at as createdAt',
  'expires_at as expiresAt',
] as const

export const listInvites = (db: Db, teamId: string): Promise<InviteRow[]> =>
  db
    .selectFrom('team_invite')
    .select(shownInvite)
    .where('workspace_id', '=', teamId)
    .where(isOpen)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()

export const findInvite = (db: Db, teamId: string, id: string): Promise<InviteRow | undefined> =>
  db
    .selectFrom('team_invite')
    .select(shownInvite)
    .where('id', '=', id)
    .where('workspace_id', '=', teamId)
    .where(isOpen)
    .executeTakeFirst()

export const generateInviteToken = (): string => `invite_${randomBytes(32).toString('base64url')}`

export const hashInviteToken = (token: string): Buffer => hash('sha256', token, 'buffer')

export const inviteUrl = (appUrl: string, token: string): string => `${appUrl}/teams/accept?token=${token}`

export async function isInviteOpen(db: Db, token: string): Promise<boolean> {
  const invite = await db
    .selectFrom('team_invite')
    .select('id')
    .where('token_hash', '=', hashInviteToken(token))
    .where(isOpen)
    .executeTakeFirst()
  return invite !== undefined
}

export const inviteNotFound = (): MatteError => new MatteError('NOT_FOUND', 'There is no such invitation.')

/** @throws MatteError NOT_FOUND: unknown or not open; AUTH_FORBIDDEN */
export function revokeInvite(db: Db, actor: TeamMember, id: string): Promise<void> {
  return inTransaction(db, async (tx) => {
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

export const endInvitesOf = (tx: Db, { teamId, userId }: TeamMember) =>
  endInvites(tx, teamId).where('invited_by', '=', userId).execute()

export const endAllInvites = (tx: Db, teamId: string) => endInvites(tx, teamId).execute()

const endInvites = (tx: Db, teamId: string) =>
  tx
    .updateTable('team_invite')
    .set({ ended_at: sql<Date>`now()`, ending: 'revoked' })
    .where('workspace_id', '=', teamId)
    .where('ended_at', 'is', null)
