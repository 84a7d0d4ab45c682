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
