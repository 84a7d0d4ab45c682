// Answers kept for as long as their records say, failures for a moment, and one question at a time for each name.
import type { LookupAddress } from 'node:dns'
import { BoundedMap } from '../bounded-map.ts'
import { pause } from '../service.ts'
import { type NameAnswer, NameError } from './query-name.ts'

type Addresses = readonly LookupAddress[]
type Known = { readonly freshUntil: number } & (
  | { readonly addresses: Addresses; readonly usableUntil: number }
  | { readonly error: unknown }
)

/** A record of 0 s would be asked for with each connection; one of days would outlive a move of the server. */
const ttlSeconds = { least: 1, most: 300 }
/** Long enough that a hundred connections of one moment ask once, short enough to notice a name that came. */
const failureMs = 1_000
/**
 * What was known serves on while the name servers do not answer (RFC 8767): a server rarely moves in just those
 * minutes, and without its address each new connection would fail. "No such name" is an answer and ends it.
 */
const usableMs = 600_000
/** So long a new answer is waited for before the old one is taken: the rest of a second is for connecting. */
const patienceMs = 300

const namesMax = 1_000

export function createNameCache(query: (name: string) => Promise<NameAnswer>, now = () => performance.now()) {
  const known = new BoundedMap<string, Known>(namesMax)
  const asking = new Map<string, Promise<Addresses>>()

  function keep(name: string, answer: NameAnswer): Addresses {
    const { addresses } = answer
    const ttl = Math.min(ttlSeconds.most, Math.max(ttlSeconds.least, answer.ttlSeconds))
    const freshUntil = now() + ttl * 1_000
    known.set(name, { addresses, freshUntil, usableUntil: freshUntil + usableMs })
    return addresses
  }

  function keepFailure(name: string, error: unknown): Addresses {
    const old = known.get(name)
    const freshUntil = now() + failureMs
    if (old !== undefined && 'addresses' in old && old.usableUntil > now() && isUnanswered(error)) {
      known.set(name, { ...old, freshUntil })
      return old.addresses
    }
    known.set(name, { error, freshUntil })
    throw error
  }

  function ask(name: string): Promise<Addresses> {
    const pending = asking.get(name)
    if (pending !== undefined) return pending
    const asked = query(name)
      .then(
        (answer) => keep(name, answer),
        (error: unknown) => keepFailure(name, error),
      )
      .finally(() => asking.delete(name))
    asking.set(name, asked)
    return asked
  }

  /** @throws NameError */
  return async (name: string): Promise<Addresses> => {
    const old = known.get(name)
    if (old === undefined) return await ask(name)
    const isFresh = now() < old.freshUntil
    if ('error' in old) {
      if (isFresh) throw old.error
      return await ask(name)
    }
    if (isFresh) return old.addresses
    if (old.usableUntil <= now()) return await ask(name)
    const enough = new AbortController()
    try {
      return await Promise.race([ask(name), pause(patienceMs, enough.signal).then(() => old.addresses)])
    } finally {
      enough.abort()
    }
  }
}

const isUnanswered = (error: unknown): boolean => error instanceof NameError && error.code === 'EAI_AGAIN'
