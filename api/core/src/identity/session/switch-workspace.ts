import type { Db } from '../../db/database.ts'
import { generateRefreshToken, hashRefreshToken } from './refresh-token.ts'
import type { StartedSession } from './start-session.ts'

type Switch = { readonly sessionId: string; readonly userId: string; readonly workspaceId: string }

/**
 * The session goes on in another workspace of its person. Its refresh token is a new one: the one before cannot lead to
 * it, since only its hash is known here, and so it is forgotten, neither spent nor stolen. Whoever refreshes with it at
 * this very moment has to sign in again. Undefined: not a member there, or the session has ended.
 */
export function switchWorkspace(db: Db, { sessionId, userId, workspaceId }: Switch) {
  return db.transaction().execute(async (tx): Promise<StartedSession | undefined> => {
    const session = await tx
      .selectFrom('session as s')
      .innerJoin('membership as m', (join) => join.onRef('m.user_id', '=', 's.user_id'))
      .select(['s.id as sessionId', 's.user_id as userId', 'm.workspace_id as workspaceId', 'm.role'])
      .where('s.id', '=', sessionId)
      .where('s.user_id', '=', userId)
      .where('s.ended_at', 'is', null)
      .where('m.workspace_id', '=', workspaceId)
      .forUpdate('s')
      .executeTakeFirst()
    if (session === undefined) return undefined
    await tx.updateTable('session').set({ workspace_id: workspaceId }).where('id', '=', sessionId).execute()
    await tx.deleteFrom('refresh_token').where('session_id', '=', sessionId).where('spent_at', 'is', null).execute()
    const refreshToken = generateRefreshToken()
    const hash = hashRefreshToken(refreshToken)
    await tx.insertInto('refresh_token').values({ hash, session_id: sessionId }).execute()
    return { ...session, refreshToken }
  })
}
