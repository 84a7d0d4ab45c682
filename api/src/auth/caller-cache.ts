// Who holds an API key, asked of the database once per key and a few seconds. Only keys that were found are kept:
// a wrong key costs its query each time, so that guessing fills no memory and a new key works at once.

import type { Db } from '@matte/core/db/database'
import { BoundedMap } from '@matte/core/runtime/bounded-map'
import { type Caller, findCaller } from '@matte/core/workspace/caller-queries'

/** A revoked key, a changed plan: in force within this time. D14 gives 5 s; the rest is for a slow query. */
const maxAgeMs = 3_000
/** About 1 MB; past it the oldest entry goes. */
const entriesMax = 10_000

type Entry = { readonly caller: Promise<Caller | undefined>; readonly readAtMs: number }

export type CallerCache = {
  /** Undefined: unknown, revoked or expired. `hash` is the key's SHA-256. */
  find(hash: Buffer): Promise<Caller | undefined>
  /** True when the key was valid the last time it was looked up, however long ago. */
  knows(hash: Buffer): boolean
}

export function callerCache(db: Db): CallerCache {
  const entries = new BoundedMap<string, Entry>(entriesMax)

  function read(name: string, hash: Buffer): Promise<Caller | undefined> {
    const caller = findCaller(db, hash)
    const entry = { caller, readAtMs: performance.now() }
    const forget = (): void => {
      if (entries.get(name) === entry) entries.delete(name)
    }
    entries.set(name, entry)
    caller.then((found) => found === undefined && forget(), forget)
    return caller
  }

  return {
    knows: (hash) => entries.has(hash.toString('base64')),
    find: (hash) => {
      const name = hash.toString('base64')
      const known = entries.get(name)
      return known !== undefined && performance.now() - known.readAtMs < maxAgeMs ? known.caller : read(name, hash)
    },
  }
}
