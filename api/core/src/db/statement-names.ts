// Statements that come again are prepared under a name, once a connection: the database then neither parses nor plans
// them each time, which for the statements of a creation was more than half of its work.
//
// A name is a hash of the text. Two processes that share a server session by mistake may find a name taken, which is an
// error; they never run each other's statements.
//
// A prepared `select *` or `returning *` breaks when a migration of a newer release adds a column ("cached plan must
// not change result type"). Its connection is then given up, and all names change, so that every other connection
// prepares again before it meets the same: one request of a process fails, and only if it was in a transaction.
import { createHash } from 'node:crypto'

/** Texts that are known; lists of changing length make new ones, and those past the bound stay unnamed. */
const textsMax = 500

export type StatementNames = {
  /** Undefined: not seen before, not worth it, or too many are known. */
  nameOf(text: string): string | undefined
  /** Call it when a prepared statement turned out to be stale. */
  renew(): void
}

/** No statement is named: behind a pooler in transaction mode the next one may reach another server session. */
export const noNames: StatementNames = { nameOf: () => undefined, renew: () => undefined }

export function statementNames(): StatementNames {
  const seen = new Map<string, string | undefined>()
  let renewals = 0
  return {
    nameOf: (text) => {
      const name = seen.get(text)
      if (name !== undefined) return name
      if (seen.has(text)) {
        const hashed = `s${renewals}_${hashOf(text)}` // never used twice, also not after a renewal
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

/** 128 bits; PostgreSQL cuts a name after 63 characters. */
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32)
