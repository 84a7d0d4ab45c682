import { sql } from 'kysely'
import type { Db } from '../db/database.ts'
import type { Role } from '../workspace/role.ts'

/** Who sends a request of the App API, and in which workspace. */
export type Member = {
  readonly userId: string
  readonly sessionId: string
  readonly workspaceId: string
  readonly plan: string
  /** Null: not a member of this workspace, or no longer. */
  readonly role: Role | null
}

/**
 * The person behind a session, with the role in a workspace. Undefined: the session has ended or its person was
 * disabled, or there is no such workspace.
 */
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

/** A session, and the workspace in which it is used. */
export type SessionIn = { readonly sessionId: string; readonly workspaceId: string }

/** Those whose session goes on and whose person is a member of the workspace still: the others have no more rights. */
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
