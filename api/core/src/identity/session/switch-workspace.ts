import { sql } from 'kysely'
import type { Db } from '../../db/database.ts'
import type { MasterKeys } from '../../runtime/seal.ts'
import { deriveSwitchedToken, derivingKeyId } from './derive-refresh-token.ts'
import { generateRefreshToken, hashRefreshToken } from './refresh-token.ts'
import type { StartedSession } from './start-session.ts'

type Switch = { readonly sessionId: string; readonly userId: string; readonly workspaceId: string }

/**
 * The session continues in another workspace of its person. Its refresh token is spent and stays in the family: reusing
 * it later ends the session, and so does a logout with it. A refresh with it at the same moment gets the token of the
 * switch. Undefined: not a member there, or the session has ended.
 */
export function switchWorkspace(db: Db, masterKeys: MasterKeys, { sessionId, userId, workspaceId }: Switch) {
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
    return { ...session, refreshToken: await replaceToken(tx, masterKeys, sessionId) }
  })
}

async function replaceToken(tx: Db, masterKeys: MasterKeys, sessionId: string): Promise<string> {
  const keyId = derivingKeyId(masterKeys)
  const spent = await tx
    .updateTable('refresh_token')
    .set({ spent_at: sql<Date>`clock_timestamp()`, derived_by: keyId })
    .where('session_id', '=', sessionId)
    .where('spent_at', 'is', null)
    .returning('hash')
    .executeTakeFirst()
  const refreshToken = spent === undefined ? generateRefreshToken() : deriveSwitchedToken(masterKeys, keyId, spent.hash)
  await tx
    .insertInto('refresh_token')
    .values({ hash: hashRefreshToken(refreshToken), session_id: sessionId })
    .execute()
  return refreshToken
}
