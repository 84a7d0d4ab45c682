// Holders of links to results: the API key, or the member in a workspace, to whom the API gave the link. The link works
// as long as its holder may read the task.
import type { Db } from '@matte/core/db/database'
import { isLiveKey } from '@matte/core/workspace/caller-queries'
import { isLiveMember } from '@matte/people/identity/session/find-member'
import { shortCache } from './short-cache.ts'

type Caller = { readonly workspaceId: string; readonly userId: string | null; readonly apiKeyId?: string }

export const holderOf = ({ apiKeyId, workspaceId, userId }: Caller): string =>
  apiKeyId === undefined ? `member.${workspaceId}.${userId}` : `key.${apiKeyId}`

export type LinkHolders = {
  /** `holder`: of a verified link. */
  isLive(holder: string): Promise<boolean>
}

export function linkHolders(db: Db): LinkHolders {
  // Ended holders are cached too: a link needs no credential, so it must not cost a query each time.
  const cache = shortCache<{ readonly isLive: boolean }>()
  const read = async (holder: string) => {
    const [kind, first = '', userId = ''] = holder.split('.')
    return { isLive: await (kind === 'key' ? isLiveKey(db, first) : isLiveMember(db, { workspaceId: first, userId })) }
  }
  return { isLive: async (holder) => (await cache.find(holder, () => read(holder)))?.isLive === true }
}
