// Prepares repeated statements under a name per connection. Parsing and planning took more than half of the database's
// work in a creation.
// A name is a hash of the text: processes that share a session by mistake get an error, never another statement.
// A prepared `select *` fails when a newer release adds a column ("cached plan must not change result type"). Then its
// connection is closed and all names change, so at most one request of a process fails, and only in a transaction.
import { createHash } from 'node:crypto'

/** Bound of known texts; lists of varying length create new ones, which then stay unnamed. */
const textsMax = 500

export type StatementNames = {
  nameOf(text: string): string | undefined
  renew(): void
}

/** For transaction poolers: the next statement may reach another server session. */
export const noNames: StatementNames = { nameOf: () => undefined, renew: () => undefined }

export function statementNames(): StatementNames {
  const seen = new Map<string, string | undefined>()
  let renewals = 0
  return {
    nameOf: (text) => {
      const name = seen.get(text)
      if (name !== undefined) return name
      if (seen.has(text)) {
        const hashed = `s${renewals}_${hashOf(text)}` // unique across renewals
        seen.set(text, hashed)
        return hashed
      }
      if (seen.size < textsMax) seen.set(text, undefined)
      return undefined
    },
    renew: () => {
      renewals += 1
      seen.clear()
    },
  }
}

/** 128 bits; PostgreSQL truncates names to 63 characters. */
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)
