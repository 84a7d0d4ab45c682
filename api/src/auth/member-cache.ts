import type { Db } from '@matte/core/db/database'
import { findMember, type Member } from '@matte/core/identity/member-queries'
import { shortCache } from './short-cache.ts'

export type MemberCache = {
  /** Undefined: the session has ended, its person is disabled, or there is no such workspace. */
  find(sessionId: string, workspaceId: string): Promise<Member | undefined>
}

/** Who is behind a session, and in which role. */
export function memberCache(db: Db): MemberCache {
  const cache = shortCache<Member>()
  return {
    find: (sessionId, workspaceId) =>
      cache.find(`${sessionId} ${workspaceId}`, () => findMember(db, sessionId, workspaceId)),
  }
}
