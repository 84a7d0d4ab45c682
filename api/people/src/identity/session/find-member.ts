import type { Db } from '@matte/core/db/database'
import type { Role } from '@matte/core/workspace/role'
import { sql } from 'kysely'
import { hashRefreshToken } from './refresh-token.ts'

export type Member = {
  readonly userId: string
  readonly sessionId: string
  readonly workspaceId: string
  readonly plan: string
  readonly role: Role | null
}

/** Undefined if the session ended, the user is disabled, or the workspace does not exist. */
export function findMember(db: Db, sessionId: string, workspaceId: string): Promise<Member | undefined> {
  return db
    .selectFrom('session as s')
    .innerJoin('app_user as u', 'u.id', 's.user_id')
    .innerJoin('workspace as w', (join) => join.on('w.id', '=', workspaceId))
    .leftJoin('membership as m', (join) => join.onRef('m.workspace_id', '=', 'w.id').onRef('m.user_id', '=', 'u.id'))
    .select(['u.id as userId', 's.id as sessionId', 'w.id as workspaceId', 'w.plan', 'm.role'])
    .where('s.id', '=', sessionId)
    .where('s.ended_at', 'is', null)
    .where('s.expires_at', '>', sql<Date>`now()`)
    .where('u.disabled_at', 'is', null)
    .where('u.erased_at', 'is', null)
    .executeTakeFirst()
}

export type SessionIn = { readonly sessionId: string; readonly workspaceId: string }

export async function findLiveSessions(db: Db, pairs: readonly SessionIn[]): Promise<SessionIn[]> {
  const { rows } = await sql<SessionIn>`
    select p.session_id as "sessionId", p.workspace_id as "workspaceId"
      from unnest(${pairs.map(({ sessionId }) => sessionId)}::uuid[],
                  ${pairs.map(({ workspaceId }) => workspaceId)}::uuid[]) as p (session_id, workspace_id)
      join session s on s.id = p.session_id and s.ended_at is null and s.expires_at > now()
      join app_user u on u.id = s.user_id and u.disabled_at is null and u.erased_at is null
      join membership m on m.workspace_id = p.workspace_id and m.user_id = u.id`.execute(db)
  return rows
}

/** Whether the user is a member of the workspace, with a session or without. */
export async function isLiveMember(db: Db, member: Pick<Member, 'workspaceId' | 'userId'>): Promise<boolean> {
  const row = await db
    .selectFrom('membership as m')
    .innerJoin('app_user as u', 'u.id', 'm.user_id')
    .select('u.id')
    .where('m.workspace_id', '=', member.workspaceId)
    .where('u.id', '=', member.userId)
    .where('u.disabled_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}

/** Member of the session of a refresh token, spent or not. Undefined if unknown or if the session ended. */
export async function findFamily(db: Db, refreshToken: string): Promise<Member | undefined> {
  const session = await db
    .selectFrom('refresh_token as t')
    .innerJoin('session as s', 's.id', 't.session_id')
    .select(['s.id', 's.workspace_id'])
    .where('t.hash', '=', hashRefreshToken(refreshToken))
    .executeTakeFirst()
  return session && findMember(db, session.id, session.workspace_id)
}
