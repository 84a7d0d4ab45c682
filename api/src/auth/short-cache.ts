// Caches database look-ups of credentials for a few seconds. Failures are not cached: guessing cannot fill memory, and
// a new credential works at once.
import { BoundedMap } from '@matte/core/runtime/bounded-map'

/** Revocations and role changes take effect within this time. 5 s are promised (D14); the rest is for a slow query. */
const maxAgeMs = 3_000
const entriesMax = 10_000

type Entry<T> = { readonly value: Promise<T | undefined>; readonly readAtMs: number }

type ShortCache<T> = {
  find(name: string, read: () => Promise<T | undefined>): Promise<T | undefined>
  knows(name: string): boolean
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
