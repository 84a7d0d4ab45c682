import type { Db } from '@matte/core/db/database'
import { type Caller, findCaller } from '@matte/core/workspace/caller-queries'
import { shortCache } from './short-cache.ts'

export type CallerCache = {
  /** Undefined: unknown, revoked or expired. `hash` is the key's SHA-256. */
  find(hash: Buffer): Promise<Caller | undefined>
  /** True when the key was valid the last time it was looked up, however long ago. */
  knows(hash: Buffer): boolean
}

/** Who holds an API key. */
export function callerCache(db: Db): CallerCache {
  const cache = shortCache<Caller>()
  return {
    knows: (hash) => cache.knows(hash.toString('base64')),
    find: (hash) => cache.find(hash.toString('base64'), () => findCaller(db, hash)),
  }
}
