// What the database says of a credential, asked once per credential and a few seconds. Only what was found is kept: a
// wrong credential costs its query each time, so that guessing fills no memory and a new one works at once.
import { BoundedMap } from '@matte/core/runtime/bounded-map'

/**
 * A revoked key, an ended session, a changed role: in force within this time. D14 gives 5 s; the rest is for a slow
 * query.
 */
const maxAgeMs = 3_000
/** About 1 MB; past it the oldest entry goes. */
const entriesMax = 10_000

type Entry<T> = { readonly value: Promise<T | undefined>; readonly readAtMs: number }

type ShortCache<T> = {
  find(name: string, read: () => Promise<T | undefined>): Promise<T | undefined>
  /** True when it was found the last time it was looked up, however long ago. */
  knows(name: string): boolean
  /** It is read again the next time. */
  forget(name: string): void
}

export function shortCache<T>(): ShortCache<T> {
  const entries = new BoundedMap<string, Entry<T>>(entriesMax)

  function readAgain(name: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const value = read()
    const entry = { value, readAtMs: performance.now() }
    const forget = (): void => {
      if (entries.get(name) === entry) entries.delete(name)
    }
    entries.set(name, entry)
    value.then((found) => found === undefined && forget(), forget)
    return value
  }

  return {
    knows: (name) => entries.has(name),
    forget: (name) => void entries.delete(name),
    find: (name, read) => {
      const known = entries.get(name)
      return known !== undefined && performance.now() - known.readAtMs < maxAgeMs ? known.value : readAgain(name, read)
    },
  }
}
